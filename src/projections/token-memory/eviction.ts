import { METHODS } from '../../events/token.ts'
import type { HeldTokens } from './token-snapshot.ts'

/** Makes room in the index of tokens: one that is given up is forgotten, and may be found by its digest again. */
export const tokenEviction = (
  { columns: { columns, victim, giveBack }, keys, makers, reaches, evicted }: HeldTokens,
  reachBytes: number,
) => {
  const isStatic = (slot: number): boolean => METHODS[columns.kinds[slot]!] === 'token'
  const remove = (slot: number): void => {
    const reach = columns.reaches[slot]!
    if (isStatic(slot)) makers.remove(columns.madeBy[slot]!, reaches.length(reach))
    reaches.remove(reach)
    keys.remove(slot)
    giveBack(slot)
  }
  /** Forgets a token that was not used for long, one of those that may be; false where there is none. */
  const evict = (may?: (slot: number) => boolean): boolean => {
    const slot = victim(may)
    if (slot === undefined) return false
    evicted.add(keys.key(slot))
    remove(slot)
    return true
  }
  /** Forgets tokens that may do much, until what all may do has room; never the one in this slot. */
  const fitReaches = (but?: number): void => {
    while (reaches.bytes() > reachBytes) {
      // Those that take less have less than half of all bytes together.
      const much = reaches.bytes() / (2 * keys.size())
      if (!evict((slot) => slot !== but && reaches.share(columns.reaches[slot]!) >= much)) return
    }
  }
  return { isStatic, remove, forget: evict, fitReaches }
}
