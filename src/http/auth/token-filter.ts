import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import { isLogin } from '../../events/login.ts'
import { METHODS, type Method } from '../../events/token.ts'
import { conditionsOf, type TokensWanted } from '../../projections/history/token-past.ts'
import type { Where } from '../../projections/match.ts'
import type { TokenStatus } from '../../projections/token-status.ts'
import type { Access } from '../../projections/tokens.ts'

/** The filters of a list of authentication records. `''` and undefined do not filter; without `status`, deleted records are left out. */
export type TokenFilter = {
  readonly method: Method | undefined
  /** What the tokens of one holder have in common, in the forms it is kept in. */
  readonly identities: readonly string[]
  readonly provider: string
  readonly namespaceKey: string
  readonly status: TokenStatus | undefined
  /** Prefix of the static token's name, in any case. */
  readonly q: string
  /** Prefix of a service account, `<namespace>/<name>`. */
  readonly account?: string
  /** Ids of the tokens that issued these. */
  readonly issuedBy: readonly string[]
  /** How far these reach. */
  readonly access?: Access | undefined
}

/**
 * The forms in which a holder's identity is kept: the text itself (a token's name, `<namespace>/<name>` of a service
 * account), or the pseudonym of a provider's subject.
 */
export const identitiesOf = ({ identity }: Pseudonyms, text: string, method: Method | undefined): readonly string[] => {
  if (text === '') return []
  const forms = (method === undefined ? METHODS : [method]).map((way) => (isLogin(way) ? identity(way, text) : text))
  return [...new Set(forms)]
}

/** Methods of which the holder is a service account, which is stored in the clear. */
const searchedByAccount: Readonly<Record<Method, boolean>> = {
  token: false,
  oidc: false,
  codehost: false,
  orchestrator: true,
}

/**
 * What each method of a list is asked for. Of sessions only service accounts are searched, for what a login told of a person is sealed: where
 * they are asked for, logins are not found, and a list of logins alone is not searched.
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

/** Who holds a token: exactly one of these, and beginning so. */
const ofHolder = (identities: readonly string[], account: string | undefined): Where => {
  if (account === undefined) return ofField('identity', identities)
  if (identities.length === 0) return { identity: { prefix: account } }
  return { identity: { equals: identities.filter((identity) => identity.startsWith(account)) } }
}

const ofField = (field: string, values: readonly string[]): Where =>
  values.length === 0 ? {} : { [field]: { equals: values } }

/** The filter as it is asked of a moment, by what its clock shows (RFC 3339 UTC). */
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
