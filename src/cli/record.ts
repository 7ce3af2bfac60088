import type { Authentication } from '../contract/token.ts'

/** A pair of the service's own metadata, whatever word it is configured to write in it. */
const own = ({ metadata }: Authentication, pattern: RegExp): string =>
  Object.entries(metadata).find(([key]) => pattern.test(key))?.[1] ?? ''
const NAME = /^io\.[a-z0-9_]+\.auth\.(token\.name|email|[a-z0-9_]+\.serviceaccount\.name|[a-z0-9_]+\.sub)$/
const NAMESPACE = /^io\.[a-z0-9_]+\.auth\.(token\.namespace|[a-z0-9_]+\.namespace)$/

/** What an authentication record calls its holder: the name of a token, an address, a service account, or the provider's identifier; `''` for none. */
export const nameOf = (record: Authentication): string => own(record, NAME)

/** The namespace that an authentication record names, of the service or of the cluster; `''` for none. */
export const namespaceOf = (record: Authentication): string => own(record, NAMESPACE)
