import { isPrintable } from '../base/control-characters.ts'

/** Claims of an ID token, by name. */
export type Claims = Readonly<Record<string, unknown>>

const member = (value: unknown, name: string): unknown => {
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? (value as readonly unknown[])[Number(name)] : undefined
  return Object.hasOwn(value, name) ? (value as Claims)[name] : undefined
}

const isPointer = (claim: string): boolean => claim.startsWith('/')

/** Path to a claim: one name, or the names of a JSON Pointer (RFC 6901). */
const pathOf = (claim: string): readonly string[] =>
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
 * Texts of a claim without control characters: its value, or the items of its list. Empty for a reference and for an
 * e-mail address that is not verified.
 */
export const textsOf = (claims: Claims, claim: string, assumeVerified = false): readonly string[] => {
  const path = pathOf(claim)
  if (isReferenced(claims, claim)) return []
  if (path[0] === 'email' && !isVerified(claims['email_verified'], assumeVerified)) return []
  const value = path.reduce(member, claims as unknown)
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all.filter((one): one is string => typeof one === 'string' && isPrintable(one))
}

/** Claim that an access rule compares: the name of the claim, and the values that the rule accepts. */
export type ClaimUse = { readonly claim: string; readonly anyOf: readonly string[] }

/** Part of the value of a claim that a rule compares: the path to the part, and the accepted texts. */
type Wanted = { readonly path: readonly string[]; readonly texts: readonly string[] }

/** Claims that are always kept: the e-mail address, its verification, and the references to other claims. */
const ALWAYS = ['email', 'email_verified', '_claim_names'] as const

const isTree = (value: unknown): value is Claims => typeof value === 'object' && value !== null && !Array.isArray(value)

const picked = (tree: Claims, names: ReadonlySet<string>): Claims =>
  Object.fromEntries(Object.entries(tree).filter(([name]) => names.has(name)))

/** Claims that rules read, unchanged. */
export const claimsRead = (claims: Claims, asked: readonly ClaimUse[]): Claims =>
  picked(claims, new Set([...asked.map(({ claim }) => pathOf(claim)[0]!), ...ALWAYS]))

/**
 * Reduces a value to the parts that rules name. A list with a path into it stays complete, because paths contain its
 * indexes.
 */
const cut = (value: unknown, wanted: readonly Wanted[]): unknown => {
  const on = wanted.filter(({ path }) => path.length > 0)
  if (isTree(value)) {
    const names = [...new Set(on.map(({ path }) => path[0]!))].filter((name) => Object.hasOwn(value, name))
    const under = (name: string) =>
      on.filter(({ path }) => path[0] === name).map(({ path, texts }) => ({ path: path.slice(1), texts }))
    return Object.fromEntries(names.map((name) => [name, cut(value[name], under(name))]))
  }
  if (Array.isArray(value) && on.length > 0) return value
  const texts = new Set<unknown>(wanted.flatMap(({ path, texts }) => (path.length === 0 ? texts : [])))
  if (Array.isArray(value)) return [...new Set<unknown>(value)].filter((one) => texts.has(one))
  return texts.has(value) ? value : undefined
}

/**
 * Claims reduced to the values that rules name. Rules match them like the complete claims. The claims that are always
 * kept stay unchanged.
 */
export const claimsNamed = (claims: Claims, asked: readonly ClaimUse[]): Claims => ({
  ...(cut(
    claims,
    asked.map(({ claim, anyOf }) => ({ path: pathOf(claim), texts: anyOf })),
  ) as Claims),
  ...picked(claims, new Set(ALWAYS)),
})
