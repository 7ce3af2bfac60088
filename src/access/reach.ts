import { conveyed, EVERYWHERE, type Grant, type Holding, isFull } from './grants.ts'
import { ALL, ANYWHERE, bitOf, IN_NAMESPACE, LATER, type RightSet, rightsIn, setOf } from './rights.ts'
import { EVERY } from './roles.ts'

/** Rights of a token by namespace, computed once from its grants. */
export type Reach = {
  /** All rights in all namespaces, including rights of later versions. */
  readonly full: boolean
  /** The namespace to which the token is limited. */
  readonly namespace: string | undefined
  /** Rights in all namespaces and of the deployment, and rights that apply regardless of a namespace. */
  readonly everywhere: RightSet
  /** Additional rights by namespace. Rights in `everywhere` and namespaces without rights are excluded. */
  readonly places: ReadonlyMap<string, RightSet>
  /** Rights in at least one namespace. */
  readonly somewhere: RightSet
}

const EVALUATE = bitOf('flag.evaluate')

/** Rights of a token limited to a namespace, unless a role reduces them (api.md §3.3). */
export const NAMESPACED: RightSet = setOf([
  'flag.evaluate',
  'flag.snapshot',
  'flag.read',
  'flag.create',
  'flag.delete',
  'flag.update',
  'segment.read',
  'segment.create',
  'segment.delete',
  'segment.update',
  'namespace.read',
  'namespace.update',
  'history.read',
])

/** Creates a set of rights that is not full. */
export const resolved = (
  namespace: string | undefined,
  everywhere: RightSet,
  places: ReadonlyMap<string, RightSet>,
): Reach => ({
  full: false,
  namespace,
  everywhere,
  places,
  somewhere: [...places.values()].reduce((all, set) => all | set, everywhere),
})

/** Rights of a token without namespace and grants. */
export const FULL: Reach = {
  full: true,
  namespace: undefined,
  everywhere: ALL | LATER,
  places: new Map(),
  somewhere: ALL | LATER,
}

const bound = (namespace: string, grants: readonly Grant[] | undefined, roles: Holding['roles']): Reach => {
  const granted = grants?.reduce((all, grant) => all | conveyed(grant, roles), 0) ?? NAMESPACED
  return resolved(namespace, 0, new Map([[namespace, granted & NAMESPACED]]))
}

/**
 * Computes the reach of a holding. With `self` (for logins and exchanges) the reach includes `self.use`, the right to
 * read the own record.
 */
export const reachOf = ({ grants, roles, namespace }: Holding, self = false): Reach => {
  if (namespace !== undefined) return bound(namespace, grants, roles)
  if (grants === undefined || grants.some((grant) => isFull(grant, roles))) return FULL
  const granted = new Map<string, RightSet>()
  let everywhere = self ? ANYWHERE : 0
  for (const grant of grants) {
    const rights = conveyed(grant, roles)
    everywhere |= grant.place === EVERYWHERE ? rights : rights & ANYWHERE
    if (grant.place !== EVERYWHERE) granted.set(grant.place, (granted.get(grant.place) ?? 0) | rights)
  }
  const places = [...granted].map(([place, rights]) => [place, rights & ~everywhere] as const)
  return resolved(undefined, everywhere, new Map(places.filter(([, rights]) => rights !== 0)))
}

/**
 * Returns true if a reach contains a right (as a bit) in a namespace or in `*`. All access decisions of the service
 * call this function. It reads only its arguments.
 */
export const allowed = ({ everywhere, places }: Reach, bit: RightSet, place: string): boolean =>
  (everywhere & bit) !== 0 || ((places.get(place) ?? 0) & bit) !== 0

/** Returns true if a set of rights has a right in any namespace. */
export const allowedSomewhere = ({ somewhere }: Reach, bit: RightSet): boolean => (somewhere & bit) !== 0

/** All rights that a token has in a namespace, as one set. */
export const rightsAt = ({ everywhere, places }: Reach, place: string): RightSet =>
  everywhere | (places.get(place) ?? 0)

/** Intersection of two sets of rights. */
export const common = (one: Reach, other: Reach): Reach => {
  if (one === other || other.full) return one
  if (one.full) return other
  const everywhere = one.everywhere & other.everywhere
  const places = [...new Set([...one.places.keys(), ...other.places.keys()])]
    .map((place) => [place, rightsAt(one, place) & rightsAt(other, place) & ~everywhere] as const)
    .filter(([, rights]) => rights !== 0)
  return resolved(one.namespace ?? other.namespace, everywhere, new Map(places))
}

/** Returns true if a token may be published: its only right is to evaluate flags. */
export const publishable = ({ somewhere }: Reach): boolean => somewhere === EVALUATE

/** Returns true if the namespace alone is an unambiguous text of a set of rights. */
const standsAlone = (namespace: string): boolean => namespace !== '' && !namespace.startsWith('[')

const setText = (set: RightSet): string => ((set & LATER) === 0 ? rightsIn(set).join(',') : EVERY)

const setFrom = (text: string, place: string): RightSet => {
  if (text === EVERY) return (place === EVERYWHERE ? ALL : IN_NAMESPACE) | LATER
  return setOf(text.split(','))
}

const byKey = ([a]: readonly [string, RightSet], [b]: readonly [string, RightSet]): number => (a < b ? -1 : 1)

/**
 * Serializes a reach. Equal rights have equal texts. The text is empty for all rights, and only the key of the
 * namespace for a token that is limited to this namespace and has no other restrictions. It contains the names of
 * rights instead of bits, so that other versions of the service can read it.
 */
export const reachText = ({ full, namespace, everywhere, places }: Reach): string => {
  if (full) return ''
  if (namespace !== undefined && standsAlone(namespace) && places.get(namespace) === NAMESPACED) return namespace
  const held = [[EVERYWHERE, everywhere] as const, ...[...places].sort(byKey)].filter(([, set]) => set !== 0)
  return JSON.stringify([namespace ?? null, ...held.map(([place, set]) => [place, setText(set)])])
}

/**
 * Parses the text of a set of rights; without a text the token has all rights. Ignores rights that this version does
 * not know.
 */
export const reachFrom = (text = ''): Reach => {
  if (text === '') return FULL
  if (standsAlone(text)) return resolved(text, 0, new Map([[text, NAMESPACED]]))
  const [bound, ...held] = JSON.parse(text) as [string | null, ...(readonly [string, string])[]]
  const sets = new Map(held.map(([place, rights]) => [place, setFrom(rights, place)]))
  if (bound !== null) return resolved(bound, 0, new Map([[bound, sets.get(bound) ?? 0]]))
  const everywhere = sets.get(EVERYWHERE) ?? 0
  sets.delete(EVERYWHERE)
  const places = [...sets].map(([place, set]) => [place, set & ~everywhere] as const)
  return resolved(undefined, everywhere, new Map(places.filter(([, set]) => set !== 0)))
}
