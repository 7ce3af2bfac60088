import { conveyed, EVERYWHERE, type Grant, type Holding } from './grants.ts'
import { meaningsIn } from './meanings.ts'
import { type Reach, reachOf, rightsAt } from './reach.ts'
import { type RightSet, rightsIn } from './rights.ts'
import type { Meanings } from './roles.ts'

/** The grants that are left, and what their roles mean. */
export type Narrowed = { readonly grants: readonly Grant[]; readonly roles: Meanings }

/** The rights of a reach in a place, each place by itself. */
const at = (reach: Reach, place: string): RightSet => (place === EVERYWHERE ? reach.everywhere : rightsAt(reach, place))

/** Every namespace first, then each that one of the reaches names. */
const placesIn = (...reaches: readonly Reach[]): readonly string[] => [
  EVERYWHERE,
  ...[...new Set(reaches.flatMap(({ places }) => [...places.keys()]))].sort(),
]

/**
 * What a login or an exchange has left of its old grants under new ones: exactly what both give. Undefined where
 * nothing is lost, without any grant where nothing is left. New grants that lose nothing stay as they are, what is left
 * of the others stands as rights.
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
