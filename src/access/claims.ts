/** What an ID token says, by name. */
export type Claims = Readonly<Record<string, unknown>>

const member = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? (value as readonly unknown[])[Number(name)] : undefined
  return Object.hasOwn(value, name) ? (value as Claims)[name] : undefined
}

const isPointer = (claim: string): boolean => claim.startsWith('/')

/** The names that lead to a claim: one, or those of a JSON Pointer (RFC 6901). */
export const pathOf = (claim: string): readonly string[] =>
  isPointer(claim)
    ? claim
        .slice(1)
        .split('/')
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [claim]

/** Whether a text names a claim: not empty, and where it begins with `/` a JSON Pointer. */
export const isClaim = (text: string): boolean => text !== '' && !(isPointer(text) && /~(?![01])/.test(text))

/** Whether the provider gave a reference in the place of a claim. */
export const isReferenced = (claims: Claims, claim: string): boolean =>
  member(claims['_claim_names'], pathOf(claim)[0]!) !== undefined

/**
 * Whether `email_verified` says that an address is verified: `true` or "true", and nothing else. Where the provider says nothing of it, `assumed`
 * is the answer.
 */
export const isVerified = (said: unknown, assumed: boolean): boolean =>
  said === undefined ? assumed : said === true || said === 'true'

/** Why a claim holds no text, in words; undefined where it holds one. */
export const lackOf = (claims: Claims, claim: string, assumeVerified = false): string | undefined => {
  if (textsOf(claims, claim, assumeVerified).length > 0) return undefined
  if (isReferenced(claims, claim)) return 'only a reference'
  const value = pathOf(claim).reduce(member, claims as unknown)
  if (value === undefined || value === null) return 'absent'
  return pathOf(claim)[0] === 'email' && !isVerified(claims['email_verified'], assumeVerified)
    ? 'not verified'
    : 'without a text'
}

/** The texts that a claim holds: itself, or those of its list. An e-mail address that is not verified is none, nor is a reference. */
export const textsOf = (claims: Claims, claim: string, assumeVerified = false): readonly string[] => {
  const path = pathOf(claim)
  if (isReferenced(claims, claim)) return []
  if (path[0] === 'email' && !isVerified(claims['email_verified'], assumeVerified)) return []
  const value = path.reduce(member, claims as unknown)
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one) => typeof one === 'string')
}
