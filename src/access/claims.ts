/** Claims of an ID token, by name. */
export type Claims = Readonly<Record<string, unknown>>

const member = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? (value as readonly unknown[])[Number(name)] : undefined
  return Object.hasOwn(value, name) ? (value as Claims)[name] : undefined
}

const isPointer = (claim: string): boolean => claim.startsWith('/')

/** Path to a claim: one name, or the names of a JSON Pointer (RFC 6901). */
export const pathOf = (claim: string): readonly string[] =>
  isPointer(claim)
    ? claim
        .slice(1)
        .split('/')
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [claim]

/** Returns true if the text can name a claim: not empty, and a valid JSON Pointer if it begins with `/`. */
export const isClaim = (text: string): boolean => text !== '' && !(isPointer(text) && /~(?![01])/.test(text))

/** Returns true if the provider sent a reference in place of the claim (`_claim_names`). */
export const isReferenced = (claims: Claims, claim: string): boolean =>
  member(claims['_claim_names'], pathOf(claim)[0]!) !== undefined

/** Returns true if `email_verified` is `true` or "true". Returns `assumed` if the claim is absent. */
export const isVerified = (verified: unknown, assumed: boolean): boolean =>
  verified === undefined ? assumed : verified === true || verified === 'true'

/** Returns the reason why a claim contains no text, for the log; undefined if it contains a text. */
export const lackOf = (claims: Claims, claim: string, assumeVerified = false): string | undefined => {
  if (textsOf(claims, claim, assumeVerified).length > 0) return undefined
  if (isReferenced(claims, claim)) return 'only a reference'
  const value = pathOf(claim).reduce(member, claims as unknown)
  if (value === undefined || value === null) return 'absent'
  return pathOf(claim)[0] === 'email' && !isVerified(claims['email_verified'], assumeVerified)
    ? 'not verified'
    : 'without a text'
}

/**
 * Texts of a claim: its value, or the items of its list. Empty for a reference and for an e-mail address that is not
 * verified.
 */
export const textsOf = (claims: Claims, claim: string, assumeVerified = false): readonly string[] => {
  const path = pathOf(claim)
  if (isReferenced(claims, claim)) return []
  if (path[0] === 'email' && !isVerified(claims['email_verified'], assumeVerified)) return []
  const value = path.reduce(member, claims as unknown)
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one) => typeof one === 'string')
}
