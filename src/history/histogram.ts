import type { Sources } from './event-index/steps.ts'
import type { EventFilter } from './filter.ts'
import { type EventRange, type Head, spanOf } from './spans.ts'
import { tally } from './tally.ts'

/** Steps in seconds. Larger steps are multiples of the last one. */
const STEPS = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800, 2_592_000]
/** Maximum number of events examined that the index does not decide. */
const EXAMINED = 200_000

/** A period in epoch ms, from 1970 on: from ≤ time < to. */
export type Period = { readonly from: number; readonly to: number }

/** Number of buckets of a step that a period touches. */
const bucketsOf = ({ from, to }: Period, step: number): number =>
  to <= from ? 0 : Math.floor((to - 1) / (step * 1000)) - Math.floor(from / (step * 1000)) + 1

/** Smallest step in seconds that divides a period into at most `most` buckets. */
export const stepOf = (period: Period, most: number): number => {
  const found = STEPS.find((step) => bucketsOf(period, step) <= most)
  if (found !== undefined) return found
  const last = STEPS.at(-1)!
  for (let times = 2; ; times++) if (bucketsOf(period, last * times) <= most) return last * times
}

type Histogram = {
  readonly step: number
  readonly buckets: readonly { readonly start: number; readonly count: number }[]
  readonly total: number
  readonly exact: boolean
}

export type HistogramRequest = {
  readonly filter: EventFilter
  readonly range: EventRange
  readonly period: Period
  /** Maximum number of buckets. */
  readonly most: number
}

/** Counts the events of a period that pass a filter, in buckets of equal length. A bucket begins at a multiple of it. */
export const histogramOf = async (
  sources: Sources,
  { filter, range, period, most }: HistogramRequest,
  head: Head,
): Promise<Histogram> => {
  const step = stepOf(period, most)
  const first = Math.floor(period.from / (step * 1000))
  const counts = Array.from({ length: bucketsOf(period, step) }, () => 0)
  const [from, to] = [period.from, period.to].map((ms) => new Date(ms).toISOString()) as [string, string]
  const within = { ...filter, from, to }
  const exact = await tally(
    sources,
    await spanOf(sources, range, within, head),
    { filter: within },
    EXAMINED,
    (time) => {
      const n = Math.floor(time / (step * 1000)) - first
      if (counts[n] !== undefined) counts[n]++
    },
  )
  return {
    step,
    buckets: counts.map((count, n) => ({ start: (first + n) * step * 1000, count })),
    total: counts.reduce((sum, count) => sum + count, 0),
    exact,
  }
}
