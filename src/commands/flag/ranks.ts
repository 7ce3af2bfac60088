import { invalid, refuse } from '../../errors.ts'
import type { Move } from '../../events/flag.ts'

type Ranked = { readonly id: string; readonly rank: number }

const HIGHEST = 2 ** 31 - 1

/** The rank asked for when it is free, the one behind the last for 0 (api.md §7.6); a taken one is refused with `rank_taken`. */
export const freeRank = (parts: readonly Ranked[], asked: number): number => {
  const rank = asked || Math.min(HIGHEST, Math.max(0, ...parts.map((part) => part.rank)) + 1)
  return parts.some((part) => part.rank === rank) ? refuse('rank_taken', `rank number: ${rank} already exists`) : rank
}

/** The moves that number the parts 1 to n in the order given. */
export const numbered = (parts: readonly Ranked[]): Move[] =>
  parts.flatMap(({ id, rank }, n) => (rank === n + 1 ? [] : [{ id, from: rank, to: n + 1 }]))

/** The moves that put the listed parts first, in the order of the list, and the others behind them as they stand. An unknown id is refused. */
export const ordered = (parts: readonly Ranked[], ids: readonly string[], field: string): Move[] => {
  const listed = new Map(parts.map((part) => [part.id, part]))
  const asked = new Set(ids)
  const first = Array.from(asked, (id) => listed.get(id) ?? invalid(field, `contains unknown id "${id}"`))
  return numbered([...first, ...parts.filter(({ id }) => !asked.has(id))])
}
