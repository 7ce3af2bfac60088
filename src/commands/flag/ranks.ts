import { invalid, refuse } from '../../base/errors.ts'
import type { Move } from '../../events/flag.ts'

type Ranked = { readonly id: string; readonly rank: number }

const HIGHEST = 2 ** 31 - 1

/**
 * Returns the requested rank, or the next one after the last for 0 (api.md §7.6). Refuses an occupied rank with
 * `rank_taken`.
 */
export const freeRank = (parts: readonly Ranked[], asked: number): number => {
  const rank = asked || Math.min(HIGHEST, Math.max(0, ...parts.map((part) => part.rank)) + 1)
  return parts.some((part) => part.rank === rank) ? refuse('rank_taken', `rank number: ${rank} already exists`) : rank
}

/** Rank changes that number the rules or rollouts from 1 to n in the given order. */
export const numbered = (parts: readonly Ranked[]): Move[] =>
  parts.flatMap(({ id, rank }, n) => (rank === n + 1 ? [] : [{ id, from: rank, to: n + 1 }]))

/**
 * Rank changes that put the listed rules or rollouts first, in the given order, and keep the order of all rules or
 * rollouts that are not listed. Refuses an unknown id.
 */
export const ordered = (parts: readonly Ranked[], ids: readonly string[], field: string): Move[] => {
  const listed = new Map(parts.map((part) => [part.id, part]))
  const asked = new Set(ids)
  const first = Array.from(asked, (id) => listed.get(id) ?? invalid(field, `contains unknown id "${id}"`))
  return numbered([...first, ...parts.filter(({ id }) => !asked.has(id))])
}
