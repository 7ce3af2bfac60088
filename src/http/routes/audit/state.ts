import type { Moment } from '../../../as-of/as-of.ts'
import { partsOf } from '../../../base/concurrency.ts'
import { refuse } from '../../../base/errors.ts'
import { sliced } from '../../../base/event-loop.ts'
import { type DiffItem, diffQuery, StateDiff, StreamState, stateQuery } from '../../../contract/history/state.ts'
import { momentText } from '../../../contract/readers/moment.ts'
import { differences } from '../../../history/diff.ts'
import { flags } from '../../../projections/flags.ts'
import { namespaces, segments } from '../../../projections/resource-model.ts'
import { countReading } from '../../history/event-page.ts'
import {
  logPlaceShown,
  type Past,
  placeOfMoment,
  resourceAt,
  streamState,
  wholeFlag,
} from '../../history/stream-state.ts'
import { leavingOut } from '../../lists/paging.ts'
import { hasRoomFor, type Of, takePage } from '../../memory/room.ts'
import { namespaceJson } from '../../present/namespace.ts'
import { segmentJson } from '../../present/segment.ts'
import { allRoutes, type Call, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'
import { type Answer, jsonOf } from '../../wire/reply.ts'

/**
 * Fields that a difference leaves out: times, which every change moves, and the last use, which is not part of the
 * history.
 */
const IGNORED: ReadonlySet<string> = new Set(['createdAt', 'updatedAt', 'lastUsedAt'])

/** Number of streams compared at once. */
const CHUNK = 64

/** Difference of one resource; undefined if both sides are equal. */
const itemOf = (stream: string, from: object | undefined, to: object | undefined): DiffItem | undefined => {
  if (!from && !to) return undefined
  if (!from) return { stream, kind: 'added', changes: [{ path: '', to }] }
  if (!to) return { stream, kind: 'removed', changes: [{ path: '', from }] }
  const changes = differences(from, to, IGNORED)
  return changes.length === 0 ? undefined : { stream, kind: 'changed', changes }
}

type Sides = { readonly a: Past; readonly b: Past }

/** Difference of one stream between two moments. Refuses a stream that had no event at either moment. */
const streamDiff = async (service: HistoryService, { a, b }: Sides, stream: string): Promise<readonly DiffItem[]> => {
  const hyphen = stream.indexOf('-')
  const name = { category: stream.slice(0, Math.max(0, hyphen)), id: stream.slice(hyphen + 1) }
  const [before, after] = [await resourceAt(service, a, name), await resourceAt(service, b, name)]
  if (!before.written && !after.written) refuse('not_found', `stream "${stream}" not found`)
  const item = itemOf(stream, before.body, after.body)
  return item ? [item] : []
}

type Entry = { readonly key: string }

/** Streams that belong to a namespace at a moment: its own, those of its flags and those of its segments. */
const streamsAt = async (past: Past, namespace: string): Promise<ReadonlySet<string>> => {
  const names = (category: string, entries: readonly Entry[]) => entries.map(({ key }) => `${category}-${key}`)
  const [own, flagList, segmentList] = [
    await past.namespace(namespace),
    await past.flags(namespace),
    await past.segments(namespace),
  ]
  return new Set([
    ...(own ? [`namespace-${namespace}`] : []),
    ...names('flag', flagList),
    ...names('segment', segmentList),
  ])
}

/** Bodies of the given streams at a moment, by stream. Streams that do not exist at the moment have no body. */
const bodiesAt = async (past: Past, streams: readonly string[], existing: ReadonlySet<string>) => {
  const idsOf = (category: string) =>
    streams
      .filter((one) => one.startsWith(`${category}-`) && existing.has(one))
      .map((one) => one.slice(category.length + 1))
  const bodies = new Map<string, object>()
  for (const row of await past.rows(namespaces, idsOf('namespace')))
    if (row?.doc) bodies.set(`namespace-${row.key}`, namespaceJson(row.doc))
  for (const row of await past.rows(flags, idsOf('flag')))
    if (row?.doc) bodies.set(`flag-${row.key}`, wholeFlag(row.doc))
  for (const row of await past.rows(segments, idsOf('segment')))
    if (row?.doc) bodies.set(`segment-${row.key}`, segmentJson(row.doc))
  return bodies
}

/** The given streams, each with its bodies at both moments. */
async function* bodiesOf(
  { a, b }: Sides,
  streams: readonly string[],
  before: ReadonlySet<string>,
  now: ReadonlySet<string>,
) {
  for (const part of partsOf(streams, CHUNK)) {
    const [from, to] = [await bodiesAt(a, part, before), await bodiesAt(b, part, now)]
    yield part.map((stream) => ({ stream, from: from.get(stream), to: to.get(stream) }))
  }
}

type Bounds = Of & { readonly limit: number; readonly most: number; readonly after: string }

/**
 * Differences of a namespace with its flags and segments, in the order of their streams, from the stream after `after`
 * on. `next`: last stream that was compared; undefined after the last one.
 */
const namespaceDiff = async (
  sides: Sides,
  namespace: string,
  { request, limit, most, after }: Bounds,
): Promise<{ readonly items: StateDiff['items']; readonly next: string | undefined }> => {
  const [before, now] = [await streamsAt(sides.a, namespace), await streamsAt(sides.b, namespace)]
  const streams = [...new Set([...before, ...now])].filter((stream) => stream > after).sort()
  const items: DiffItem[] = []
  let [bytes, last] = [0, after]
  for await (const part of sliced(bodiesOf(sides, streams, before, now)))
    for (const { stream, from, to } of part) {
      const item = itemOf(stream, from, to)
      const size = item ? Buffer.byteLength(jsonOf(item)) + 1 : 0
      const isFull = items.length === limit || bytes + size > most || !hasRoomFor(request, bytes + size)
      if (item && items.length > 0 && isFull) return { items, next: last }
      if (item) items.push(item)
      bytes += size
      last = stream
    }
  return { items, next: undefined }
}

const PAGE_MAX = 1000

const reading = {
  ...audit,
  access: { credential: 'required', namespace: 'none', right: 'audit.read', past: 'free' },
} as const

type DiffCall = Call<unknown, ReturnType<(typeof diffQuery)['read']>>
/** Cursor of a difference: the last stream compared, and the position of the second moment. */
type Cursor = { readonly after: string; readonly b: string }

const diffAnswer = async (service: HistoryService, call: DiffCall): Promise<Answer<StateDiff>> => {
  await takePage(call)
  const { log, pageTokens, settings, asOf } = service
  const { query, request, reply } = call
  const scope = ['diff', query.stream, query.namespaceKey, momentText(query.a), momentText(query.b)]
  const cursor = query.pageToken === '' ? undefined : (pageTokens.read(scope, query.pageToken) as Cursor)
  const later: Moment = cursor ? { position: BigInt(cursor.b) } : (query.b ?? { position: await log.head() })
  const sides = { a: await asOf(query.a, request.stop, 'a'), b: await asOf(later, request.stop, 'b') }
  const [a, b] = [await placeOfMoment(service, sides.a), await placeOfMoment(service, sides.b)]
  const limit = query.limit === 0 ? PAGE_MAX : Math.min(query.limit, PAGE_MAX)
  const bounds = { request, reply, limit, most: settings.mostBytes, after: cursor?.after ?? '' }
  const { items, next } =
    query.stream === ''
      ? await namespaceDiff(sides, query.namespaceKey, bounds)
      : { items: await streamDiff(service, sides, query.stream), next: undefined }
  countReading(service, call, 0)
  const nextPageToken = next === undefined ? '' : pageTokens.write(scope, { after: next, b: String(b.position) })
  const equal = items.length === 0 && next === undefined && cursor === undefined
  const body = { a: logPlaceShown(a), b: logPlaceShown(b), equal, items, nextPageToken }
  return leavingOut(service, sides.a.closed.flags() + sides.b.closed.flags(), { body })
}

const getState: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/state/:category/:id',
    ...reading,
    summary: 'Get the state of a token, namespace, flag or segment, now or at a moment, with its last event.',
    query: stateQuery,
    errors: ['not_found', 'invalid_at', 'view_behind', 'rate_limited', 'history_busy', 'deadline_exceeded'],
    answer: StreamState,
    run: (call) => {
      const answer = async (): Promise<Answer<StreamState>> => {
        await takePage(call)
        const { category = '', id = '' } = call.params
        const moment = call.query.at ?? { position: await service.log.head() }
        const body = await streamState(service, await service.asOf(moment, call.request.stop), { category, id })
        countReading(service, call, 0)
        return { body }
      }
      // A query with `at` has passed the limits of reads of past states already (`preconditions`).
      return call.query.at ? answer() : asOfReading(service, call.request, answer)
    },
  })

const getDiff: HistoryMount = (app, service) =>
  route(app, {
    method: 'GET',
    url: '/audit/v1/diff',
    ...reading,
    summary: 'Compare a stream, or a namespace with its flags and segments, at two moments.',
    query: diffQuery,
    errors: [
      'not_found',
      'invalid_at',
      'invalid_page_token',
      'view_behind',
      'rate_limited',
      'history_busy',
      'deadline_exceeded',
    ],
    answer: StateDiff,
    run: (call) => asOfReading(service, call.request, () => diffAnswer(service, call)),
  })

/** Routes of states of the past (api.md §16.7, §16.8). */
export const auditStateRoutes = allRoutes(getState, getDiff)
