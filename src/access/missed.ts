import { lackOf } from './claims.ts'
import type { AccessPolicy, OidcRule, Subject } from './rules.ts'

/** Maximum number of claims listed by name. */
const MOST = 10
const UNLISTED = 'without one of any_of'

const named = (claims: readonly string[]): string => {
  const more = claims.length - MOST
  return claims.slice(0, MOST).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

/**
 * Describes, for a login that no rule matches, the claims that the provider's rules read and their defects. The
 * description contains no values of claims.
 */
export const missedClaims = (
  { rules, assumeVerified }: Pick<AccessPolicy, 'rules' | 'assumeVerified'>,
  { provider, claims }: Extract<Subject, { method: 'oidc' }>,
): string => {
  const asked = rules.filter((rule): rule is OidcRule => rule.method === 'oidc' && rule.provider === provider)
  const lacks = new Map<string, string[]>()
  for (const claim of new Set(asked.map((rule) => rule.claim))) {
    const lack = lackOf(claims, claim, assumeVerified.includes(provider)) ?? UNLISTED
    lacks.set(lack, [...(lacks.get(lack) ?? []), claim])
  }
  return [...lacks].map(([lack, names]) => `${lack}: ${named(names)}`).join('; ')
}
