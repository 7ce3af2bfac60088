import type { Authentication } from '../../contract/token.ts'
import type { Column } from '../terminal/output.ts'

/** Value of the service's own metadata; its prefix depends on the configuration. */
const own = ({ metadata }: Authentication, pattern: RegExp): string =>
  Object.entries(metadata).find(([key]) => pattern.test(key))?.[1] ?? ''
const NAME = /^io\.[a-z0-9_]+\.auth\.(token\.name|email|[a-z0-9_]+\.serviceaccount\.name|[a-z0-9_]+\.sub)$/
const NAMESPACE = /^io\.[a-z0-9_]+\.auth\.(token\.namespace|[a-z0-9_]+\.namespace)$/

/**
 * Name of the holder of an authentication record: token name, email address, service account, or the provider's
 * identifier; `''` for none.
 */
export const nameOf = (record: Authentication): string => own(record, NAME)

/** Namespace of an authentication record, of the service or of the cluster; `''` for none. */
const namespaceOf = (record: Authentication): string => own(record, NAMESPACE)

/** Columns of a table of tokens. */
export const TOKEN_COLUMNS: readonly Column<Authentication>[] = [
  ['ID', ({ id }) => id],
  ['METHOD', ({ method }) => method.replace(/^METHOD_/, '')],
  ['NAME', nameOf],
  ['NAMESPACE', namespaceOf],
  ['STATUS', ({ status }) => status],
  ['CREATED', ({ createdAt }) => createdAt],
  ['EXPIRES', ({ expiresAt }) => expiresAt ?? 'never'],
]
