import type { Authentication } from '../../src/contract/token.ts'
import { shell } from './words/shell.ts'

type Record = Pick<Authentication, 'id' | 'method' | 'metadata'>
/** Login method of a client token, independent of the names that a deployment chooses. */
export type Way = 'token' | 'oidc' | 'codehost' | 'orchestrator'

/** Returns a metadata value by the end of its name, because deployments choose the prefix. */
export const metadataOf = ({ metadata }: Pick<Record, 'metadata'>, name: string): string | undefined =>
  Object.entries(metadata).find(([key]) => key === name || key.endsWith(`.${name}`))?.[1]

/** Returns the login method of a record's token. */
export const wayOf = (record: Record): Way => {
  if (record.method === 'METHOD_TOKEN') return 'token'
  if (record.method === 'METHOD_OIDC') return 'oidc'
  return metadataOf(record, 'serviceaccount.name') === undefined ? 'codehost' : 'orchestrator'
}

/** Whether a record's token is from the login of a person at a provider or the code host. */
export const isLogin = (record: Record): boolean => ['oidc', 'codehost'].includes(wayOf(record))

/** Service account of an exchange, `<namespace>/<name>`. */
const accountOf = (record: Record): string =>
  [metadataOf(record, 'namespace'), metadataOf(record, 'serviceaccount.name')].join('/')

/** Display name of a record's holder. */
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

/** Holder of a record: the filter by which the API selects all tokens of one holder. */
export type Holder = { readonly method: string; readonly identity: string; readonly provider?: string }

/** Returns the holder of a record; undefined if its identity was erased. */
export const holderIn = (record: Record): Holder | undefined => {
  const way = wayOf(record)
  const identity =
    way === 'orchestrator' ? accountOf(record) : metadataOf(record, way === 'token' ? 'token.name' : 'sub')
  const provider = way === 'oidc' ? metadataOf(record, 'oidc.provider') : undefined
  if (identity === undefined || (way === 'oidc' && provider === undefined)) return undefined
  return { method: record.method, identity, ...(provider !== undefined && { provider }) }
}

/** Comparison key of a record's holder, equal for all sessions of a person; never shown. */
export const holderOf = (record: Record | undefined): string =>
  record ? JSON.stringify(holderIn(record) ?? record.id) : ''
