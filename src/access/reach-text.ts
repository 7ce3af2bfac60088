import { EVERYWHERE } from './grants.ts'
import { FULL, NAMESPACED, type Reach, resolved } from './reach.ts'
import { ALL, IN_NAMESPACE, LATER, type RightSet, rightsIn, setOf } from './rights.ts'
import { EVERY } from './roles.ts'

/** A namespace alone stands for itself, unless it could be taken for another text. */
const standsAlone = (namespace: string): boolean => namespace !== '' && !namespace.startsWith('[')

const setText = (set: RightSet): string => ((set & LATER) === 0 ? rightsIn(set).join(',') : EVERY)

const setFrom = (text: string, place: string): RightSet => {
  if (text === EVERY) return (place === EVERYWHERE ? ALL : IN_NAMESPACE) | LATER
  return setOf(text.split(','))
}

const byKey = ([a]: readonly [string, RightSet], [b]: readonly [string, RightSet]): number => (a < b ? -1 : 1)

/**
 * A reach as a text: equal reaches have equal ones. Empty for the full reach, the bare namespace for a token that is
 * bound to one and not narrowed. Names stand in it and no bits, so that another version may read it.
 */
export const reachText = ({ full, namespace, everywhere, places }: Reach): string => {
  if (full) return ''
  if (namespace !== undefined && standsAlone(namespace) && places.get(namespace) === NAMESPACED) return namespace
  const held = [[EVERYWHERE, everywhere] as const, ...[...places].sort(byKey)].filter(([, set]) => set !== 0)
  return JSON.stringify([namespace ?? null, ...held.map(([place, set]) => [place, setText(set)])])
}

/** The reach of a text; of none the full one. A right that this version does not know is left out. */
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
