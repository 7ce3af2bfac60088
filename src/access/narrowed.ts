import { conveyed, EVERYWHERE, type Grant, type Holding } from './grants.ts'
import { meaningsIn } from './meanings.ts'
import { type Reach, reachOf, rightsAt } from './reach.ts'
import { type RightSet, rightsIn } from './rights.ts'
import type { Meanings } from './roles.ts'

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
