import { invalid } from '../base/errors.ts'
import type { IndexedEvent } from '../verifier/export/event-fields.ts'
import type { EventFilter, FilterValues } from '../verifier/export/filter.ts'
import { type Counting, groupOf, type Period, tally } from './counts.ts'
import type { Sources } from './event-index/scan.ts'
import { QUIET_CHANGES } from './event-names.ts'
import { type Head, rangeOf } from './ranges.ts'

/** Properties to count by. */
type Grouping = 'method' | 'provider' | 'namespaceKey' | 'reason'

/** Maximum number of rows. */
const ROWS = 10_000

const only = (...any: readonly string[]): FilterValues => ({ any, none: [] })
const loud: FilterValues = { any: [], none: QUIET_CHANGES }

/** Number in a field of the data of an event; 0 if there is none. */
const numberIn = ({ fields }: IndexedEvent, name: string): number => {
  const value = fields.data?.[name]
  return typeof value === 'number' ? value : 0
}

/** A column of the statistics: the events that it counts, and the number that each of them adds; absent: one. */
type Figure = { readonly filter: EventFilter; readonly count?: (event: IndexedEvent) => number }

/** Columns of the statistics (api.md §16.13), in their order. */
const FIGURES = {
  tokensIssued: { filter: { type: only('TokenIssued') } },
  tokensDeleted: { filter: { type: only('TokenRevoked') } },
  tokensExpired: { filter: { type: only('TokenExpired') } },
  loginsStarted: { filter: { type: only('LoginStarted') } },
  loginsCompleted: { filter: { type: only('LoginCompleted') } },
  loginsRefused: { filter: { type: only('LoginRefused') } },
  exchangesIssued: { filter: { type: only('TokenIssued'), method: only('orchestrator') } },
  exchangesRefused: {
    filter: { type: only('AuthenticationRefused'), method: only('orchestrator') },
    count: (event) => 1 + numberIn(event, 'more'),
  },
  requestsRefused: { filter: { type: only('RefusalsSummarised') }, count: (event) => numberIn(event, 'total') },
  flagChanges: { filter: { category: only('flag'), type: loud } },
  segmentChanges: { filter: { category: only('segment'), type: loud } },
  historyReads: {
    filter: { type: only('HistoryRead', 'HistoryExported') },
    count: (event) => (event.fields.type === 'HistoryExported' ? 1 : numberIn(event, 'requests')),
  },
} as const satisfies Readonly<Record<string, Figure>>
type FigureName = keyof typeof FIGURES
const FIGURE_NAMES = Object.keys(FIGURES) as readonly FigureName[]

/** Value of the property by which events are counted. */
const valueOf = ({ fields }: IndexedEvent, by: Grouping): string | undefined => {
  if (by !== 'reason') return groupOf(fields, by)
  const reason = fields.data?.['reason']
  return typeof reason === 'string' ? reason : undefined
}

/** Counts of refused requests by reason. */
const byReason = ({ fields }: IndexedEvent): readonly (readonly [string, number])[] =>
  Object.entries(fields.data?.['byReason'] ?? {}).filter(
    (each): each is [string, number] => typeof each[1] === 'number',
  )

/**
 * Count of one column of the statistics. Reasons and numbers are in the data of these events, so the events are read.
 */
const countingOf = ({ filter, count }: Figure, by: Grouping | undefined): Counting => {
  if (!count && by !== 'reason') return { filter, by }
  return {
    filter,
    amounts: (event) =>
      by === 'reason' && event.fields.type === 'RefusalsSummarised'
        ? byReason(event)
        : [[by && valueOf(event, by), count?.(event) ?? 1]],
  }
}

/** A row: the start of its bucket in epoch ms, the value of the property, and the columns. */
export type StatisticsRow = { readonly start?: number; readonly by?: string } & { [name in FigureName]: number }

const NOTHING = Object.fromEntries(FIGURE_NAMES.map((name) => [name, 0])) as { [name in FigureName]: number }

export type StatisticsRequest = {
  readonly period: Period
  readonly bucketMs: number | undefined
  readonly by: Grouping | undefined
}

/**
 * Statistics of a period, by bucket and value of the property, in this order. Refuses more than `ROWS` rows with `too
 * many rows`.
 */
export const statisticsOf = async (
  sources: Sources,
  { period, bucketMs, by }: StatisticsRequest,
  head: Head,
): Promise<readonly StatisticsRow[]> => {
  const [from, to] = [period.from, period.to].map((ms) => new Date(ms).toISOString()) as [string, string]
  const range = await rangeOf(sources, {}, { from, to }, head)
  const rows = new Map<string, StatisticsRow>()
  for (const name of FIGURE_NAMES) {
    const counting = countingOf(FIGURES[name], by)
    const within = { ...counting, filter: { ...counting.filter, from, to } }
    await tally(sources, range, within, Infinity, (time, value, count) => {
      const start = bucketMs === undefined ? undefined : Math.floor(time / bucketMs) * bucketMs
      const key = `${String(start ?? 0).padStart(16, '0')} ${value ?? ''}`
      const row: StatisticsRow = rows.get(key) ?? {
        ...(start !== undefined && { start }),
        ...(value !== undefined && { by: value }),
        ...NOTHING,
      }
      if (count === 0) return
      row[name] += count
      rows.set(key, row)
      if (rows.size > ROWS) invalid('bucket', 'too many rows')
    })
  }
  return [...rows.keys()].sort().map((key) => rows.get(key)!)
}
