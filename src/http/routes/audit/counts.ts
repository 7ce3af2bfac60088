import { csvOf } from '../../../base/csv.ts'
import {
  EventHistogram,
  EventStatistics,
  FIGURES,
  type StatisticsQuery,
  type StatisticsRow,
  statisticsQuery,
} from '../../../contract/history/events.ts'
import type { StatisticsRow as Counted } from '../../../history/statistics.ts'
import { acceptedForm, countReading, histogram, selectionBy } from '../../history/event-page.ts'
import { allRoutes, type Call, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'
import { csvAnswer } from '../../wire/reply.ts'

const counting = {
  ...audit,
  access: { credential: 'required', namespace: 'none', right: 'audit.read' },
  errors: ['invalid_at', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
} as const

const BUCKETS = { hour: 3_600_000, day: 86_400_000 } as const

const textOf = (ms: number): string => new Date(ms).toISOString()

/** Period of a query in epoch ms: from the first event up to now if nothing else is given; never before 1970. */
const periodOf = async (
  { history, now }: HistoryService,
  { from, to }: { readonly from: string | undefined; readonly to: string | undefined },
) => {
  const end = to === undefined ? now().getTime() : Date.parse(to)
  const begin = from === undefined ? ((await history.began()) ?? end) : Date.parse(from)
  return { from: Math.max(0, begin), to: Math.max(0, end) }
}

const getHistogram: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/histogram',
    ...counting,
    summary: 'Count the events that match all filters by time.',
    query: histogram,
    answer: EventHistogram,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const { history } = service
        const { query, request } = call
        const { filter, bounds } = selectionBy(query)
        const head = await history.head()
        const period = await periodOf(service, query)
        const counted = await history.histogram({ filter, bounds, period, most: query.buckets }, head, request.stop)
        countReading(service, call, 0)
        const buckets = counted.buckets.map(({ start, count }) => ({ start: textOf(start), count }))
        return { body: { from: textOf(period.from), to: textOf(period.to), ...counted, buckets } }
      }),
  })

const rowShown = ({ start, ...row }: Counted): StatisticsRow => ({
  ...(start !== undefined && { start: textOf(start) }),
  ...row,
})

const TABLE: readonly (readonly [string, (row: StatisticsRow) => string])[] = [
  ['start', ({ start = '' }) => start],
  ['by', ({ by = '' }) => by],
  ...FIGURES.map((name) => [name, (row: StatisticsRow) => String(row[name])] as const),
]

const CSV = { 'content-type': 'text/csv; charset=utf-8; header=present' }

const OFFERED: ReadonlyMap<string, StatisticsQuery['format']> = new Map([
  ['application/json', 'json'],
  ['text/csv', 'csv'],
])

const wantsTable = ({ query: { format }, request }: Call<unknown, StatisticsQuery>): boolean =>
  (format ?? acceptedForm(request.headers.accept, OFFERED)) === 'csv'

const getStatistics: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/stats',
    ...counting,
    summary: 'Count tokens, logins, exchanges, refusals and changes by time and by one property; as JSON or CSV.',
    query: statisticsQuery,
    answer: EventStatistics,
    run: (call) =>
      asOfReading(service, call.request, async () => {
        const { history } = service
        const { query, request } = call
        const head = await history.head()
        const period = await periodOf(service, query)
        const bucketMs = query.bucket && BUCKETS[query.bucket]
        const found = await history.statistics({ period, bucketMs, by: query.by }, head, request.stop)
        const isTable = wantsTable(call)
        countReading(service, call, 0, isTable ? 'csv' : 'json')
        const rows = found.map(rowShown)
        return isTable ? csvAnswer(csvOf(rows, TABLE), CSV) : { body: { rows } }
      }),
  })

/** Routes that count events of the history (api.md §16.12, §16.13). */
export const auditCountsRoutes = allRoutes(getHistogram, getStatistics)
