import { ALL, ANYWHERE, IN_NAMESPACE, isRight, LATER, RIGHTS, type RightSet, setOf } from './rights.ts'
import { EVERY, type Meanings, type Role } from './roles.ts'

/** Text `*`, which stands for all namespaces, present and future, and the deployment itself. */
export const EVERYWHERE = '*'
/** Returns true if the text consists of the characters that keys of flags, segments and namespaces may have. */
export const isKey = (text: string): boolean => /^[-_,A-Za-z0-9]+$/.test(text)

/** A role or a list of rights, for one namespace or for all (`*`). `rule` names the access rule that gave the grant. */
export type Grant = {
  readonly place: string
  readonly role?: string
  readonly rights?: readonly string[]
  readonly rule?: string
}

/**
 * Access of a token according to its events: its grants, the rights of their roles, and the namespace that the token is
 * limited to. A token without grants and without namespace has all rights.
 */
export type Holding = {
  readonly grants?: readonly Grant[] | undefined
  readonly roles?: Meanings | undefined
  readonly namespace?: string | undefined
}

/** Rights of a grant, or `*`, regardless of its namespace. */
const rightsNamed = ({ role, rights }: Grant, roles: Meanings = {}): readonly string[] =>
  rights ?? (role !== undefined && Object.hasOwn(roles, role) ? roles[role]! : [])

/** Returns true for a grant of all rights in all namespaces, including rights of later versions. */
export const isFull = (grant: Grant, roles?: Meanings): boolean =>
  grant.place === EVERYWHERE && rightsNamed(grant, roles).includes(EVERY)

/** Rights that a grant gives in its namespace. */
export const conveyed = (grant: Grant, roles?: Meanings): RightSet => {
  const named = rightsNamed(grant, roles)
  const meant = named.includes(EVERY) ? ALL | LATER : setOf(named)
  return grant.place === EVERYWHERE ? meant : meant & (IN_NAMESPACE | ANYWHERE | LATER)
}

/** Formats a grant: `editor@shop`, `flag.read,flag.update@*`. */
export const grantText = ({ place, role, rights = [] }: Grant): string => `${role ?? rights.join(',')}@${place}`

/** A parsed grant, or the error in its text. */
export type Read = { readonly grant: Grant } | { readonly wrong: string }

const parts = (text: string): { readonly what: string; readonly place: string } | undefined => {
  const at = text.indexOf('@')
  return at > 0 ? { what: text.slice(0, at), place: text.slice(at + 1) } : undefined
}

const wrongPlace = (place: string, others: readonly string[]): string | undefined => {
  if (place === '') return 'has no namespace after @: write a namespace key, or * for all namespaces'
  return [EVERYWHERE, ...others].includes(place) || isKey(place)
    ? undefined
    : `"${place}" is neither a namespace key nor *`
}

/**
 * Parses a grant of a role: `editor@shop` or `viewer@*`. After the `@` a namespace key, `*` or one of the texts in
 * `others` is valid. Does not check that the role exists.
 */
export const readGrant = (text: string, others: readonly string[] = []): Read => {
  const given = parts(text)
  if (given === undefined) return { wrong: 'must be ROLE@PLACE, such as editor@shop or viewer@*' }
  const wrong = wrongPlace(given.place, others)
  return wrong === undefined ? { grant: { place: given.place, role: given.what } } : { wrong }
}

/** Parses a grant of rights: `flag.read,flag.update@shop`. */
export const readRights = (text: string): Read => {
  const given = parts(text)
  if (given === undefined) return { wrong: 'must be RIGHT,RIGHT@PLACE, such as flag.read,flag.update@shop' }
  const rights = [...new Set(given.what.split(',').map((right) => right.trim()))]
  const unknown = rights.find((right) => !isRight(right))
  if (unknown !== undefined) return { wrong: `unknown right "${unknown}"; known rights: ${RIGHTS.join(', ')}` }
  const wrong = wrongPlace(given.place, [])
  return wrong === undefined ? { grant: { place: given.place, rights } } : { wrong }
}

/** Rights of roles, by name. */
export const meaningsOf = (roles: readonly Role[]): Meanings =>
  Object.fromEntries(roles.map(({ name, rights }) => [name, rights]))

/** Rights of the roles that the grants name. */
export const meaningsIn = (grants: readonly Grant[], roles: Meanings = {}): Meanings =>
  Object.fromEntries(
    grants.flatMap(({ role }) => (role !== undefined && Object.hasOwn(roles, role) ? [[role, roles[role]!]] : [])),
  )
