import { loginMethods, methodOf, type TokenRecord } from './login-methods.ts'
import { shell } from './words/shell.ts'

/** Whether a record's token is from the login of a person at a provider or the code host. */
export const isLogin = (record: TokenRecord): boolean => loginMethods[methodOf(record)].isLogin

/** Display name of a record's holder. */
export const identityOf = (record: TokenRecord | undefined): string => {
  if (!record) return shell.nobody
  const known = loginMethods[methodOf(record)].nameOf(record)
  return known !== undefined && known !== '' ? known : record.id.slice(0, 8)
}

/** Holder of a record: the filter by which the API selects all tokens of one holder. */
export type Holder = { readonly method: string; readonly identity: string; readonly provider?: string }

/** Returns the holder of a record; undefined if its identity was erased. */
export const holderIn = (record: TokenRecord): Holder | undefined => {
  const { subjectOf, providerOf } = loginMethods[methodOf(record)]
  const [identity, provider] = [subjectOf(record), providerOf?.(record)]
  if (identity === undefined || (providerOf && provider === undefined)) return undefined
  return { method: record.method, identity, ...(provider !== undefined && { provider }) }
}

/** Comparison key of a record's holder, equal for all sessions of a person; never shown. */
export const holderOf = (record: TokenRecord | undefined): string =>
  record ? JSON.stringify(holderIn(record) ?? record.id) : ''
