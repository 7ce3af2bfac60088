import { conveyed, EVERYWHERE, type Grant, type Holding, isFull } from './grants.ts'
import { ALL, ANYWHERE, bitOf, LATER, type RightSet, setOf } from './rights.ts'

/** What a token may do and where, resolved from its grants once. */
export type Reach = {
  /** Every right there is and will be, everywhere. */
  readonly full: boolean
  /** The namespace that the token is bound to. */
  readonly namespace: string | undefined
  /** Rights in every namespace and of the deployment, and those that count wherever they were granted. */
  readonly everywhere: RightSet
  /** Further rights by namespace: none that is held everywhere, and no namespace without any. */
  readonly places: ReadonlyMap<string, RightSet>
  /** Rights that are held in some place. */
  readonly somewhere: RightSet
}

const EVALUATE = bitOf('flag.evaluate')

/** What a namespaced token may do in its namespace where no role narrows it (api.md §3.3). */
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

/** A reach that is not full, by what is held where. */
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

/** The reach of a token that is not bound to a namespace and has no grants. */
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

/** The reach that a holding gives; `self`: of a login or an exchange, which always may use its own record. */
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

/** Whether a reach has a right, given as its bit, in a place: a namespace, or `*` for every one and the deployment. The one decision about access, by the token and by names only. */
export const allowed = ({ everywhere, places }: Reach, bit: RightSet, place: string): boolean =>
  (everywhere & bit) !== 0 || ((places.get(place) ?? 0) & bit) !== 0

/** Whether a reach has a right in any place at all. */
export const allowedSomewhere = ({ somewhere }: Reach, bit: RightSet): boolean => (somewhere & bit) !== 0

/** The rights of a reach in a place, as one set. */
export const rightsAt = ({ everywhere, places }: Reach, place: string): RightSet =>
  everywhere | (places.get(place) ?? 0)

/** What two reaches have in common. */
export const common = (one: Reach, other: Reach): Reach => {
  if (one === other || other.full) return one
  if (one.full) return other
  const everywhere = one.everywhere & other.everywhere
  const places = [...new Set([...one.places.keys(), ...other.places.keys()])]
    .map((place) => [place, rightsAt(one, place) & rightsAt(other, place) & ~everywhere] as const)
    .filter(([, rights]) => rights !== 0)
  return resolved(one.namespace ?? other.namespace, everywhere, new Map(places))
}

/** Whether a token may be published: its only right is to ask flags. */
export const publishable = ({ somewhere }: Reach): boolean => somewhere === EVALUATE
