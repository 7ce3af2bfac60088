import type { Authentication } from '../../src/contract/token.ts'
import { shell } from './words/shell.ts'

type Record = Pick<Authentication, 'id' | 'method' | 'metadata'>
/** How a client token came about, whatever a deployment calls its methods. */
export type Way = 'token' | 'oidc' | 'codehost' | 'orchestrator'

/** A value of a record's metadata by the end of its name: deployments choose what stands in front. */
export const metadataOf = ({ metadata }: Pick<Record, 'metadata'>, name: string): string | undefined =>
  Object.entries(metadata).find(([key]) => key === name || key.endsWith(`.${name}`))?.[1]

/** How a record's token came about. */
export const wayOf = (record: Record): Way => {
  if (record.method === 'METHOD_TOKEN') return 'token'
  if (record.method === 'METHOD_OIDC') return 'oidc'
  return metadataOf(record, 'serviceaccount.name') === undefined ? 'codehost' : 'orchestrator'
}

/** Whether a record's token is that of a person who logged in through somebody else. */
export const isLogin = (record: Record): boolean => ['oidc', 'codehost'].includes(wayOf(record))

/** The service account of an exchange, `<namespace>/<name>`. */
const accountOf = (record: Record): string =>
  [metadataOf(record, 'namespace'), metadataOf(record, 'serviceaccount.name')].join('/')

/** How a person, a program or nobody is called. */
export const identityOf = (record: Record | undefined): string => {
  if (!record) return shell.nobody
  const given = (name: string) => metadataOf(record, name)
  const known = {
    token: () => given('token.name'),
    oidc: () => given('name') ?? given('email') ?? given('preferred_username'),
    codehost: () => given('name') ?? given('email') ?? given('preferred_username'),
    orchestrator: () => accountOf(record),
  }[wayOf(record)]()
  return known !== undefined && known !== '' ? known : record.id.slice(0, 8)
}

/** Whom a record stands for. */
export type Holder = { readonly method: string; readonly identity: string; readonly provider?: string }

/** Whom a record stands for, as the service is asked about all of one holder's tokens; undefined where that was erased. */
export const holderIn = (record: Record): Holder | undefined => {
  const way = wayOf(record)
  const identity =
    way === 'orchestrator' ? accountOf(record) : metadataOf(record, way === 'token' ? 'token.name' : 'sub')
  const provider = way === 'oidc' ? metadataOf(record, 'oidc.provider') : undefined
  if (identity === undefined || (way === 'oidc' && provider === undefined)) return undefined
  return { method: record.method, identity, ...(provider !== undefined && { provider }) }
}

/** Whom a record stands for, the same for each of a person's sessions; it is compared, and never shown. */
export const holderOf = (record: Record | undefined): string =>
  record ? JSON.stringify(holderIn(record) ?? record.id) : ''
