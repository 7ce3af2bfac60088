import { type Claims, pathOf } from './claims.ts'

/** What a rule asks of the claims of a login. */
export type ClaimUse = { readonly claim: string; readonly anyOf: readonly string[] }

/** What is asked of a value: which texts it must hold, or by which names it leads on. */
type Wanted = { readonly path: readonly string[]; readonly texts: readonly string[] }

/** What says of other claims how they are to be read, and the address that it says it of. */
const ALWAYS = ['email', 'email_verified', '_claim_names'] as const

const isTree = (value: unknown): value is Claims => typeof value === 'object' && value !== null && !Array.isArray(value)

const picked = (tree: Claims, names: ReadonlySet<string>): Claims =>
  Object.fromEntries(Object.entries(tree).filter(([name]) => names.has(name)))

/** The claims that rules read, as they are. */
export const claimsRead = (claims: Claims, asked: readonly ClaimUse[]): Claims =>
  picked(claims, new Set([...asked.map(({ claim }) => pathOf(claim)[0]!), ...ALWAYS]))

/** Of a value only what some rules name. A list in which one of them leads on stays whole: there a name is a place. */
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

/** The same, with nothing in them but what the rules name: they match it as they match the whole. An e-mail address and references stay as they are. */
export const claimsNamed = (claims: Claims, asked: readonly ClaimUse[]): Claims => ({
  ...(cut(
    claims,
    asked.map(({ claim, anyOf }) => ({ path: pathOf(claim), texts: anyOf })),
  ) as Claims),
  ...picked(claims, new Set(ALWAYS)),
})
