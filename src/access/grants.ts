import { ALL, ANYWHERE, IN_NAMESPACE, LATER, type RightSet, setOf } from './rights.ts'
import { EVERY, type Meanings } from './roles.ts'

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
