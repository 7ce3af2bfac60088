import { ALL, ANYWHERE, IN_NAMESPACE, LATER, type RightSet, setOf } from './rights.ts'
import { EVERY, type Meanings } from './roles.ts'

/** In the place of a namespace key: every namespace there is or will be, and the deployment itself. */
export const EVERYWHERE = '*'
/** Whether a text is made of what keys of flags, segments and namespaces are made of. */
export const isKey = (text: string): boolean => /^[-_,A-Za-z0-9]+$/.test(text)

/** A role, or a list of rights, in a place; `rule` names the rule that gave it. */
export type Grant = {
  readonly place: string
  readonly role?: string
  readonly rights?: readonly string[]
  readonly rule?: string
}

/** What the events of a token say of its access: its grants with what their roles meant, and the namespace it is bound to. Without grants and without namespace it may do everything. */
export type Holding = {
  readonly grants?: readonly Grant[] | undefined
  readonly roles?: Meanings | undefined
  readonly namespace?: string | undefined
}

/** What a grant says, whatever its place conveys: rights, or `*`. */
export const rightsNamed = ({ role, rights }: Grant, roles: Meanings = {}): readonly string[] =>
  rights ?? (role !== undefined && Object.hasOwn(roles, role) ? roles[role]! : [])

/** Every right in every namespace, those of later versions too. */
export const isFull = (grant: Grant, roles?: Meanings): boolean =>
  grant.place === EVERYWHERE && rightsNamed(grant, roles).includes(EVERY)

/** The rights that a grant conveys in its place. */
export const conveyed = (grant: Grant, roles?: Meanings): RightSet => {
  const named = rightsNamed(grant, roles)
  const meant = named.includes(EVERY) ? ALL | LATER : setOf(named)
  return grant.place === EVERYWHERE ? meant : meant & (IN_NAMESPACE | ANYWHERE | LATER)
}

/** A grant as people write it: `editor@shop`, `flag.read,flag.update@*`. */
export const grantText = ({ place, role, rights = [] }: Grant): string => `${role ?? rights.join(',')}@${place}`
