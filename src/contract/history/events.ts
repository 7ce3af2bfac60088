import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import type { Method } from '../../events/token.ts'
import { Actor, AnyObject, Id, Instant, named, type Shown, Text } from '../answer.ts'
import { choice, flag, integer, optional, text } from '../readers/fields.ts'
import { query, type ReadBy, type ReadOf } from '../readers/input.ts'
import { instant } from '../readers/moment.ts'
import { order } from '../resource.ts'
import { filterValues, index, position, searchText } from './event-filters.ts'

/** One change that an event made: a JSON Pointer, and the values before and after, if known. */
export const EventChange = named('EventChange', {
  path: Text,
  from: Type.Optional(Type.Unknown()),
  to: Type.Optional(Type.Unknown()),
})

/** A sealed field of an event: `value` if its key opens it. */
const OpenedField = named('OpenedField', {
  status: Type.Enum(['open', 'erased', 'lost']),
  value: Type.Optional(Type.Unknown()),
})

/** An event of the history (api.md §16.2). */
export const HistoryEvent = named('HistoryEvent', {
  index: Type.Integer(),
  position: Text,
  time: Instant,
  type: Text,
  version: Type.Integer(),
  category: Text,
  stream: Text,
  revision: Type.Integer(),
  id: Id,
  namespace: Type.Optional(Text),
  subject: Type.Optional(Text),
  method: Type.Optional(Text),
  provider: Type.Optional(Text),
  outcome: Type.Enum(['success', 'denied', 'failed']),
  command: Type.Optional(Text),
  actor: Actor,
  requestId: Type.Optional(Text),
  correlationId: Type.Optional(Text),
  causationId: Type.Optional(Text),
  traceId: Type.Optional(Text),
  route: Type.Optional(Text),
  reason: Type.Optional(Text),
  instance: Type.Optional(Text),
  summary: Text,
  changes: Type.Array(EventChange),
  sealed: Type.Boolean(),
  data: AnyObject,
  meta: AnyObject,
  personal: Type.Optional(Type.Record(Type.String(), OpenedField)),
})
export type HistoryEvent = Shown<typeof HistoryEvent>

const EventPlace = named('EventPlace', { index: Type.Integer(), position: Text })

/** One page of events (api.md §16.4). */
export const HistoryEvents = named('HistoryEvents', {
  events: Type.Array(HistoryEvent),
  nextPageToken: Text,
  through: Type.Optional(EventPlace),
  head: Type.Optional(EventPlace),
  count: Type.Optional(named('EventCount', { value: Type.Integer(), exact: Type.Boolean() })),
})
export type HistoryEvents = Shown<typeof HistoryEvents>

/** Names that filters accept: types and categories of events, and methods of issue. */
type KnownNames = {
  readonly types: ReadonlySet<string>
  readonly categories: ReadonlySet<string>
  readonly methods: readonly Method[]
}

const OUTCOMES = ['success', 'denied', 'failed']

/** Number of buckets of a histogram: default and maximum. */
const [BUCKETS, BUCKETS_MAX] = [60, 240]

/** Forms of an answer with events. */
const FORMATS = { json: 0, ndjson: 1, csv: 2, sse: 3, cloudevents: 4, ocsf: 5 } as const
export type EventsFormat = keyof typeof FORMATS

/** Filters of events (api.md §16.3). */
const filtersOf = ({ types, categories, methods }: KnownNames) => ({
  type: filterValues((type) => type.startsWith('*') || type.endsWith('*') || types.has(type)),
  category: filterValues((category) => categories.has(category)),
  stream: filterValues(),
  actor: filterValues(),
  tokenId: filterValues(),
  subject: filterValues(),
  namespaceKey: filterValues(),
  flagKey: filterValues(),
  segmentKey: filterValues(),
  method: filterValues((method) => methods.includes(method as Method)),
  provider: filterValues(),
  outcome: filterValues((outcome) => OUTCOMES.includes(outcome)),
  requestId: filterValues(),
  correlationId: filterValues(),
  command: filterValues(),
  route: filterValues(),
  q: searchText,
  from: instant,
  to: instant,
  after: position,
  before: position,
  afterIndex: index,
  beforeIndex: index,
})

/** Form of personal data in an answer. */
export const personal = choice({ sealed: 0, open: 1 }, 'sealed')

const fieldsOf = (known: KnownNames) => ({
  ...filtersOf(known),
  order,
  limit: integer({ min: 0, minMessage: 'must not be negative' }),
  pageToken: text(),
  personal,
  count: flag(),
  format: optional(choice(FORMATS)),
})

/** Filters as read. */
export type EventFilters = ReadOf<ReturnType<typeof filtersOf>>

/** Refuses filters that contradict each other. */
const insistOnFilters = (asked: EventFilters): void => {
  for (const name of ['flagKey', 'segmentKey'] as const)
    if (asked[name] && !(asked.namespaceKey && asked.namespaceKey.none.length === 0))
      invalid(name, 'needs namespaceKey')
  if (asked.after !== undefined && asked.afterIndex !== undefined)
    invalid('afterIndex', 'only one of after and afterIndex can be present')
  if (asked.before !== undefined && asked.beforeIndex !== undefined)
    invalid('beforeIndex', 'only one of before and beforeIndex can be present')
}

/** Query of the history of events (api.md §16.3), and the texts of its filters by declared name. */
export const eventsQuery = (known: KnownNames) => {
  const { schema, read } = query(fieldsOf(known))
  return {
    schema,
    filters: query(filtersOf(known)).given,
    read: (given: Parameters<typeof read>[0]) => {
      const asked = read(given)
      insistOnFilters(asked)
      return asked
    },
  }
}

/** Query of a histogram of events (api.md §16.12). */
export const histogramQuery = (known: KnownNames) => {
  const { schema, read } = query({ ...filtersOf(known), buckets: integer() })
  return {
    schema,
    read: (given: Parameters<typeof read>[0]) => {
      const { buckets: asked, ...filters } = read(given)
      insistOnFilters(filters)
      const buckets = asked === 0 ? BUCKETS : asked
      if (buckets < 1 || buckets > BUCKETS_MAX) invalid('buckets', `must be between 1 and ${BUCKETS_MAX}`)
      return { ...filters, buckets }
    },
  }
}
export type EventsQuery = ReadBy<{ readonly schema: never; readonly read: ReturnType<typeof eventsQuery>['read'] }>

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
