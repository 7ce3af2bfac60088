import type { Moment } from '../../../as-of/as-of.ts'
import { diffQuery, StateDiff, StreamState, stateQuery } from '../../../contract/history/state.ts'
import { momentText } from '../../../contract/readers/moment.ts'
import { countReading } from '../../history/recorded-reads.ts'
import { namespaceDiff, streamDiff } from '../../history/state-diff.ts'
import { logPlaceShown, placeOfMoment, streamState } from '../../history/stream-state.ts'
import { leavingOut } from '../../lists/paging.ts'
import { takePage } from '../../memory/room.ts'
import { type Call, route } from '../../route/route.ts'
import { audit } from '../../route/statements.ts'
import type { HistoryMount, HistoryService } from '../../services/history.ts'
import { asOfReading } from '../../steps/as-of-readings.ts'
import type { Answer } from '../../wire/reply.ts'

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
export const auditStateRoutes: HistoryMount = (app, service) => {
  getState(app, service)
  getDiff(app, service)
}
