import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import { isLogin } from '../../events/login.ts'
import { METHODS, type Method } from '../../events/token.ts'
import { conditionsOf, type TokensWanted } from '../../projections/history/token-past.ts'
import type { TokenStatus, Where } from '../../projections/token-status.ts'
import type { Access } from '../../projections/tokens.ts'

/**
 * Filters of a list of authentication records. `''` and undefined do not filter; without `status`, deleted records are
 * excluded.
 */
export type TokenFilter = {
  readonly method: Method | undefined
  /** Stored forms of one holder's identity. */
  readonly identities: readonly string[]
  readonly provider: string
  readonly namespaceKey: string
  readonly status: TokenStatus | undefined
  /** Case-insensitive beginning of the static token's name. */
  readonly q: string
  /** Beginning of the name of a service account, `<namespace>/<name>`. */
  readonly account?: string
  /** Ids of the issuing tokens. */
  readonly issuedBy: readonly string[]
  /** Kind of access of the tokens. */
  readonly access?: Access | undefined
}

/**
 * Stored forms of a holder's identity: the text itself (name of a token, `<namespace>/<name>` of a service account), or
 * the pseudonym of a provider's subject.
 */
export const identitiesOf = ({ identity }: Pseudonyms, text: string, method: Method | undefined): readonly string[] => {
  if (text === '') return []
  const forms = (method === undefined ? METHODS : [method]).map((candidate) =>
    isLogin(candidate) ? identity(candidate, text) : text,
  )
  return [...new Set(forms)]
}

/** Methods whose holder is a service account, stored in the clear. */
const searchedByAccount: Readonly<Record<Method, boolean>> = {
  token: false,
  oidc: false,
  codehost: false,
  orchestrator: true,
}

/**
 * Filter for one method of a list; undefined if the method is excluded. A search in sessions matches service accounts
 * only, because personal data of logins is encrypted. The search excludes logins, unless the list was requested for
 * that login method; then `q` is ignored.
 */
export const searchedBy = (
  filter: Omit<TokenFilter, 'method'>,
  asked: Method | undefined,
  kind: 'static' | 'session' | undefined,
  method: Method | undefined,
): TokenFilter | undefined => {
  const { q, ...others } = filter
  if (q === '' || kind !== 'session') return { ...filter, method }
  if (method !== undefined && searchedByAccount[method]) return { ...others, q: '', account: q.toLowerCase(), method }
  return asked === method ? { ...others, q: '', method } : undefined
}

/** Condition on the holder of a token: the holder has one of these identities, or a name that begins with this text. */
const ofHolder = (identities: readonly string[], account: string | undefined): Where => {
  if (account === undefined) return ofField('identity', identities)
  if (identities.length === 0) return { identity: { prefix: account } }
  return { identity: { equals: identities.filter((identity) => identity.startsWith(account)) } }
}

const ofField = (field: string, values: readonly string[]): Where =>
  values.length === 0 ? {} : { [field]: { equals: values } }

/** The filter at a moment, given its time (RFC 3339 UTC). */
export const wantedOf = (
  { method, identities, account, provider, namespaceKey, status, q, issuedBy, access }: TokenFilter,
  now: string,
): TokensWanted => ({
  status,
  access,
  now,
  where: {
    ...ofField('method', method === undefined ? [] : [method]),
    ...ofHolder(identities, account),
    ...ofField('provider', provider === '' ? [] : [provider]),
    ...ofField('namespace', namespaceKey === '' ? [] : [namespaceKey]),
    ...ofField('issuedBy', issuedBy),
    ...(q === '' ? {} : { name: { prefix: q.toLowerCase() } }),
  },
})

/** The filter as conditions on the view. */
export const whereOf = (filter: TokenFilter, now: Date): Where => conditionsOf(wantedOf(filter, now.toISOString()))
