import { conveyed, EVERYWHERE, type Holding } from './grants.ts'
import { allowed, type Reach, reachOf, rightsAt } from './reach.ts'
import { ANYWHERE, bitOf, LATER, RIGHTS, type Right, type RightSet } from './rights.ts'
import { EVERY, type Role } from './roles.ts'

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
