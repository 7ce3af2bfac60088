import { METHODS } from '../../events/token.ts'
import type { HeldTokens } from './token-snapshot.ts'

/** Evicts tokens from the index. An evicted token can be found again by its digest. */
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
  /** Evicts a token that was not used recently, among those that `may` accepts. Returns false if there is none. */
  const evict = (may?: (slot: number) => boolean): boolean => {
    const slot = victim(may)
    if (slot === undefined) return false
    evicted.add(keys.key(slot))
    remove(slot)
    return true
  }
  /** Evicts tokens with large reaches until all reaches fit into their limit; never the token in the slot `but`. */
  const fitReaches = (but?: number): void => {
    while (reaches.bytes() > reachBytes) {
      // Tokens below this share use less than half of all bytes together.
      const much = reaches.bytes() / (2 * keys.size())
      if (!evict((slot) => slot !== but && reaches.share(columns.reaches[slot]!) >= much)) return
    }
  }
  return { isStatic, remove, forget: evict, fitReaches }
}
