import { EVERYWHERE } from './grants.ts'
import { FULL, NAMESPACED, type Reach, resolved } from './reach.ts'
import { ALL, IN_NAMESPACE, LATER, type RightSet, rightsIn, setOf } from './rights.ts'
import { EVERY } from './roles.ts'

/** Returns true if the namespace alone is an unambiguous text of a reach. */
const standsAlone = (namespace: string): boolean => namespace !== '' && !namespace.startsWith('[')

const setText = (set: RightSet): string => ((set & LATER) === 0 ? rightsIn(set).join(',') : EVERY)

const setFrom = (text: string, place: string): RightSet => {
  if (text === EVERY) return (place === EVERYWHERE ? ALL : IN_NAMESPACE) | LATER
  return setOf(text.split(','))
}

const byKey = ([a]: readonly [string, RightSet], [b]: readonly [string, RightSet]): number => (a < b ? -1 : 1)

/**
 * Serializes a reach. Equal reaches have equal texts. Empty for the full reach, the namespace alone for a token that is
 * bound to it and not narrowed. Contains the names of rights instead of bits, so that other versions can read it.
 */
export const reachText = ({ full, namespace, everywhere, places }: Reach): string => {
  if (full) return ''
  if (namespace !== undefined && standsAlone(namespace) && places.get(namespace) === NAMESPACED) return namespace
  const held = [[EVERYWHERE, everywhere] as const, ...[...places].sort(byKey)].filter(([, set]) => set !== 0)
  return JSON.stringify([namespace ?? null, ...held.map(([place, set]) => [place, setText(set)])])
}

/** Parses the text of a reach; without a text it is the full reach. Ignores rights that this version does not know. */
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
