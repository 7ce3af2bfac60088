import { type Claims, pathOf } from './claims.ts'

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
