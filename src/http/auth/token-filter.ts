import type { Pseudonyms } from '../../auth/pseudonyms.ts'
import type { Where } from '../../projections/match.ts'
import { conditionsOf, type TokensWanted } from '../../projections/token-past.ts'
import type { TokenStatus } from '../../projections/token-status.ts'
import type { TokenDoc } from '../../projections/tokens.ts'
import type { Query } from '../../projections/views.ts'
import { isLogin } from '../../events/login.ts'
import { type Method, METHODS } from '../../events/token.ts'

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
  /** Ids of the tokens that issued these. */
  readonly issuedBy: readonly string[]
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

const ofField = (field: string, values: readonly string[]): Where =>
  values.length === 0 ? {} : { [field]: { equals: values } }

/** The filter as it is asked of a moment, by what its clock shows (RFC 3339 UTC). */
export const wantedOf = (
  { method, identities, provider, namespaceKey, status, q, issuedBy }: TokenFilter,
  now: string,
): TokensWanted => ({
  status,
  now,
  where: {
    ...ofField('method', method === undefined ? [] : [method]),
    ...ofField('identity', identities),
    ...ofField('provider', provider === '' ? [] : [provider]),
    ...ofField('namespace', namespaceKey === '' ? [] : [namespaceKey]),
    ...ofField('issuedBy', issuedBy),
    ...(q === '' ? {} : { name: { prefix: q.toLowerCase() } }),
  },
})

/** The filter as conditions on the view. */
export const whereOf = (filter: TokenFilter, now: Date): Where => conditionsOf(wantedOf(filter, now.toISOString()))

/** Place of a record in a list, as a page token carries it. */
export const placeOf = ({ createdAt, id }: TokenDoc): NonNullable<Query['after']> => ({ value: createdAt, key: id })
