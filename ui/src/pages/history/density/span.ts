import type { EventFilter, Period } from '../../../api/event-filters.ts'
import type { Density } from '../../../api/histogram.ts'

/** Bars that are chosen: `begin` ≤ bar < `end`. */
export type Span = { readonly begin: number; readonly end: number }

/** Instant (RFC 3339) at the edge before a bar; within the range of the density. */
export const edgeOf = ({ from, to, step, bars }: Density, edge: number): string => {
  const first = Date.parse(bars[0]?.start ?? from)
  const at = first + edge * step * 1000
  return new Date(Math.min(Math.max(at, Date.parse(from)), Date.parse(to))).toISOString()
}

/** Range of chosen bars. An edge that was not moved keeps the bound of the range, or its absence. */
export const rangeOf = (density: Density, { begin, end }: Span, filter: EventFilter): Period => ({
  from: begin === 0 ? filter.from : edgeOf(density, begin),
  to: end === density.bars.length ? filter.to : edgeOf(density, end),
})
