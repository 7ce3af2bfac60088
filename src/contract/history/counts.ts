import { Type } from 'typebox'
import { Instant, named, type Shown, Text } from '../answer.ts'
import { choice, optional } from '../readers/fields.ts'
import { query, type ReadBy } from '../readers/input.ts'
import { instant } from '../readers/moment.ts'

/** Number of events by time (api.md §16.12). */
export const EventHistogram = named('EventHistogram', {
  from: Instant,
  to: Instant,
  step: Type.Integer(),
  buckets: Type.Array(named('HistogramBucket', { start: Instant, count: Type.Integer() })),
  total: Type.Integer(),
  exact: Type.Boolean(),
})
export type EventHistogram = Shown<typeof EventHistogram>

/** Columns of the statistics, in their order. */
export const FIGURES = [
  'tokensIssued',
  'tokensDeleted',
  'tokensExpired',
  'loginsStarted',
  'loginsCompleted',
  'loginsRefused',
  'exchangesIssued',
  'exchangesRefused',
  'requestsRefused',
  'flagChanges',
  'segmentChanges',
  'historyReads',
] as const

const StatisticsRow = named('StatisticsRow', {
  start: Type.Optional(Instant),
  by: Type.Optional(Text),
  tokensIssued: Type.Integer(),
  tokensDeleted: Type.Integer(),
  tokensExpired: Type.Integer(),
  loginsStarted: Type.Integer(),
  loginsCompleted: Type.Integer(),
  loginsRefused: Type.Integer(),
  exchangesIssued: Type.Integer(),
  exchangesRefused: Type.Integer(),
  requestsRefused: Type.Integer(),
  flagChanges: Type.Integer(),
  segmentChanges: Type.Integer(),
  historyReads: Type.Integer(),
})
export type StatisticsRow = Shown<typeof StatisticsRow>

/** Statistics of the history (api.md §16.13). */
export const EventStatistics = named('EventStatistics', { rows: Type.Array(StatisticsRow) })
export type EventStatistics = Shown<typeof EventStatistics>

/** Query of the statistics. */
export const statisticsQuery = query({
  from: instant,
  to: instant,
  bucket: optional(choice({ hour: 0, day: 1 })),
  by: optional(choice({ method: 0, provider: 1, namespaceKey: 2, reason: 3 })),
  format: optional(choice({ json: 0, csv: 1 })),
})
export type StatisticsQuery = ReadBy<typeof statisticsQuery>
