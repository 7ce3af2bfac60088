import { useQuery } from '@tanstack/react-query'
import type { EventFilter } from './event-filters.ts'
import { readHistogram } from './history.ts'
import { keys } from './keys.ts'

/** Greatest number of bars (ui.md §6.5). */
const BARS = 120
/** Outcomes of refused requests. */
const REFUSED = ['denied', 'failed']

/** Outcomes of refusals that pass a filter of outcomes; undefined if none does. */
const refusedIn = (outcome = ''): string | undefined => {
  const given = outcome.split(',').filter((value) => value !== '')
  const chosen = given.filter((value) => !value.startsWith('!'))
  const passes = (value: string) => !given.includes(`!${value}`) && (chosen.length === 0 || chosen.includes(value))
  return REFUSED.filter(passes).join(',') || undefined
}

/** Bar of the density: the begin of its time (RFC 3339), its events, and the refusals among them. */
type Bar = { readonly start: string; readonly count: number; readonly refused: number }
export type Density = {
  readonly from: string
  readonly to: string
  /** Seconds of each bar. */
  readonly step: number
  readonly bars: readonly Bar[]
  readonly total: number
  readonly refused: number
  readonly isExact: boolean
}

/** Reads the number of events and refusals by time, in at most 120 bars. */
const readDensity = async (filter: EventFilter, signal: AbortSignal): Promise<Density> => {
  const all = await readHistogram(filter, BARS, signal)
  const { from, to, step, total } = all
  const outcome = refusedIn(filter.outcome)
  const refusals =
    outcome === undefined || total === 0
      ? undefined
      : await readHistogram({ ...filter, from, to, outcome }, BARS, signal)
  const refusedAt = new Map(refusals?.buckets.map(({ start, count }) => [start, count]))
  const bars = all.buckets.map(({ start, count }) => ({ start, count, refused: refusedAt.get(start) ?? 0 }))
  return { from, to, step, bars, total, refused: refusals?.total ?? 0, isExact: all.exact }
}

/** Number of events and refusals by time. `version` is that of the page; another one reads again. */
export const useDensity = (filter: EventFilter, version: string) =>
  useQuery({
    queryKey: [...keys.history, 'density', filter, version],
    queryFn: ({ signal }) => readDensity(filter, signal),
    placeholderData: (before) => before,
    staleTime: 'static',
  })
