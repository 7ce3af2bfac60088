import { conveyed, EVERYWHERE, type Grant, type Holding, meaningsIn } from './grants.ts'
import { allowed, type Reach, reachOf, rightsAt } from './reach.ts'
import { ANYWHERE, bitOf, LATER, RIGHTS, type Right, type RightSet, rightsIn } from './rights.ts'
import { EVERY, type Meanings, type Role } from './roles.ts'

/**
 * Right that the creator of a token lacks, with the namespace. The right is `*` if only rights of later versions are
 * missing.
 */
type Excess = { readonly right: Right | typeof EVERY; readonly place: string }

const CREATE = bitOf('token.create')

/** Requested rights that the creator does not have, by namespace: `*` first, then the namespaces by key. */
const beyond = (creator: Reach, asked: Reach): readonly (readonly [place: string, more: RightSet])[] => [
  [EVERYWHERE, asked.everywhere & ~creator.everywhere],
  ...[...asked.places.keys()]
    .sort()
    .map((place) => [place, asked.places.get(place)! & ~rightsAt(creator, place)] as const),
]

/** Namespace of the grant with a right that applies regardless of the namespace. */
const placeOf = ({ grants = [], roles }: Holding, bit: RightSet): string => {
  const places = grants.filter((grant) => (conveyed(grant, roles) & bit) !== 0).map(({ place }) => place)
  return places.includes(EVERYWHERE) ? EVERYWHERE : (places.sort()[0] ?? EVERYWHERE)
}

/** First right that a new token would have and its creator lacks; undefined if there is none. */
export const exceeding = (creator: Reach, asked: Holding): Excess | undefined => {
  const more = beyond(creator, reachOf(asked)).filter(([, set]) => set !== 0)
  const find = (bit: RightSet) => more.find(([, set]) => (set & bit) !== 0)?.[0]
  for (const right of RIGHTS) {
    const bit = bitOf(right)
    const place = find(bit)
    if (place !== undefined) return { right, place: (bit & ANYWHERE) === 0 ? place : placeOf(asked, bit) }
  }
  const place = find(LATER)
  return place === undefined ? undefined : { right: EVERY, place }
}

/**
 * Namespaces in which a creator can issue a token with a role: only `*` if the creator can in all namespaces, otherwise
 * the subset of the given namespaces in which the creator can.
 */
export const grantable = (creator: Reach, { rights }: Role, namespaces: Iterable<string>): readonly string[] => {
  const within = (asked: Holding): boolean => exceeding(creator, asked) === undefined
  if (creator.namespace !== undefined) return []
  if (allowed(creator, CREATE, EVERYWHERE) && within({ grants: [{ place: EVERYWHERE, rights }] })) return [EVERYWHERE]
  return [...new Set(namespaces)]
    .sort()
    .filter((place) => allowed(creator, CREATE, place) && within({ namespace: place, grants: [{ place, rights }] }))
}

/** Remaining grants, and the rights of their roles. */
export type Narrowed = { readonly grants: readonly Grant[]; readonly roles: Meanings }

/** Rights that a token has in one namespace, as bits. `*` excludes the rights in single namespaces. */
const at = (reach: Reach, place: string): RightSet => (place === EVERYWHERE ? reach.everywhere : rightsAt(reach, place))

/** All namespaces in both sets of rights: `*` first, then the namespaces by key. */
const placesIn = (...reaches: readonly Reach[]): readonly string[] => [
  EVERYWHERE,
  ...[...new Set(reaches.flatMap(({ places }) => [...places.keys()]))].sort(),
]

/**
 * Intersects the old grants of a login or an exchange with its new grants. Returns undefined if no right is lost, and
 * an empty list if no right remains. New grants within the old rights are kept unchanged. The other remaining rights
 * become grants of single rights.
 */
export const narrowed = (old: Holding, under: Holding): Narrowed | undefined => {
  const [before, now] = [reachOf(old, true), reachOf(under, true)]
  if (placesIn(before).every((place) => (at(before, place) & ~at(now, place)) === 0)) return undefined
  const stays = (grant: Grant): boolean => {
    const given = conveyed(grant, under.roles)
    return given !== 0 && (given & ~at(before, grant.place)) === 0
  }
  const kept = (under.grants ?? []).filter(stays)
  const roles = meaningsIn(kept, under.roles)
  const still = reachOf({ grants: kept, roles }, true)
  const everywhere = before.everywhere & now.everywhere
  const rest = placesIn(before, now).flatMap((place): readonly Grant[] => {
    const both = at(before, place) & at(now, place) & ~at(still, place)
    const left = place === EVERYWHERE ? both : both & ~everywhere
    return left === 0 ? [] : [{ place, rights: rightsIn(left) }]
  })
  return { grants: [...kept, ...rest], roles }
}
