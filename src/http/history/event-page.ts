import { EVERYWHERE } from '../../access/grants.ts'
import { allowed, type Reach } from '../../access/reach.ts'
import { bitOf } from '../../access/rights.ts'
import { refuse } from '../../base/errors.ts'
import { filterValues } from '../../contract/history/event-filters.ts'
import {
  type EventFilters,
  type EventsFormat,
  type EventsQuery,
  eventsQuery,
  type HistoryEvent,
  type HistoryEvents,
  histogramQuery,
  personal,
} from '../../contract/history/events.ts'
import type { Query } from '../../contract/readers/input.ts'
import { positionOf } from '../../contract/readers/moment.ts'
import { eventJson } from '../../history/event-json.ts'
import { knownNames } from '../../history/event-names.ts'
import { eventOpener, type OpenEvent } from '../../history/opened-fields.ts'
import type { Head, LogRange, RangeBounds } from '../../history/ranges.ts'
import { cloudEvent } from '../../verifier/export/cloud-events.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import { type EventFilter, filterIn } from '../../verifier/export/filter.ts'
import { contextOf } from '../commands/command-context.ts'
import { hasRoomFor, takePage } from '../memory/room.ts'
import { actorNames } from '../present/last-change.ts'
import { beforeRules } from '../route/required-rights.ts'
import type { Call } from '../route/route.ts'
import type { HistoryService } from '../services/history.ts'
import { parametersOf } from '../wire/path.ts'
import { batched, listed } from '../wire/pieces.ts'
import type { Answer, Json } from '../wire/reply.ts'
import { ledgerNotBegun } from './newest-checkpoint.ts'
import { recordedFilter } from './recorded-filter.ts'

/** Counts a read of the history that returns `events` events (api.md §16.6). A HEAD request is not recorded. */
export const countReading = (
  { historyReads }: Pick<HistoryService, 'historyReads'>,
  { caller, route, request }: Call<unknown, unknown>,
  events: number,
  format = 'json',
): void => {
  if (request.method !== 'HEAD') historyReads.counted(caller.actor, { route, format, events, opened: false })
}

const personalIn = beforeRules({ personal })

/** True for a query that opens personal data. Such a query needs a credential with `audit.read`. */
export const opensPersonal = (asked: Query): boolean => personalIn(asked)?.personal === 'open'

type OpeningCall = Call<unknown, { readonly personal: 'sealed' | 'open' }>

/** A read of the history as its record describes it: format, recorded filter, and range of indexes. */
type RecordedRead = {
  readonly format: string
  readonly filter: Readonly<Record<string, string>>
  readonly fromIndex: number
  readonly toIndex?: number
}

/** True if the answer to a call has opened personal data. HEAD is not recorded, so it opens nothing. */
export const isOpening = ({ query, request }: OpeningCall): boolean =>
  query.personal === 'open' && request.method !== 'HEAD'

/**
 * Returns the function that opens the personal data of an answer, after the read was recorded durably; undefined for an
 * answer without opened personal data. Refuses with `backend_unavailable` if the record cannot be written.
 */
export const recordedOpening = async (
  service: HistoryService,
  call: OpeningCall,
  read: RecordedRead,
): Promise<OpenEvent | undefined> => {
  if (!isOpening(call)) return undefined
  await service.historyReads.exported(contextOf(call, service), call.route, { ...read, personal: true })
  return eventOpener(service.sealer)
}

export type EventsCall = Call<unknown, EventsQuery>

const AUDIT = bitOf('audit.read')

/** Categories of the history of one namespace. */
const IN_NAMESPACE = ['flag', 'segment', 'namespace']

export const query = eventsQuery(knownNames)
export const histogram = histogramQuery(knownNames)

const namespacesIn = beforeRules({ namespaceKey: filterValues() })

/**
 * Returns the namespace in which `history.read` is enough for a query: the value of `namespaceKey`, if it has exactly
 * one value. A query that opens personal data has none.
 */
export const namespaceIn = (asked: Query): string | undefined => {
  if (opensPersonal(asked)) return undefined
  const values = namespacesIn(asked)?.namespaceKey
  return values?.any.length === 1 && values.none.length === 0 ? values.any[0] : undefined
}

/** True for a set of rights with `audit.read`. */
export const isAuditor = (reach: Reach): boolean => allowed(reach, AUDIT, EVERYWHERE)

/** True if the caller sees only the history of flags, segments and namespaces. */
const isBounded = ({ caller: { reach } }: EventsCall): boolean => reach !== undefined && !isAuditor(reach)

type Selection = { readonly filter: EventFilter; readonly bounds: RangeBounds }

/** Filter and range of a query. */
export const selectionBy = (asked: EventFilters): Selection => {
  const { after, before, afterIndex, beforeIndex } = asked
  return { filter: filterIn(asked), bounds: { after, before, afterIndex, beforeIndex } }
}

/** Filters of a request, as the history records them. */
export const filterGiven = (service: HistoryService, { request }: EventsCall): Readonly<Record<string, string>> =>
  recordedFilter(service, query.filters(parametersOf(request)))

/** Indexes of a range of the log: the first one, and the one after the last. */
export const indexesOf = ({ low, high }: LogRange): { readonly fromIndex: number; readonly toIndex: number } => {
  const fromIndex = low.index + 1
  return { fromIndex, toIndex: Math.max(fromIndex, high.index + 1) }
}

/** Filter and range of a query, limited to what the caller may see. */
export const selectionOf = (call: EventsCall): Selection => {
  const { filter, bounds } = selectionBy(call.query)
  return { filter: isBounded(call) ? { ...filter, within: IN_NAMESPACE } : filter, bounds }
}

/**
 * Form of the first media type in an `Accept` header that the route offers; undefined if it offers none of them.
 * Parameters, weights included, do not count (api.md §16.5).
 */
export const acceptedForm = <F>(accept: string | undefined, offered: ReadonlyMap<string, F>): F | undefined => {
  for (const range of accept?.split(',') ?? []) {
    const form = offered.get(range.split(';', 1)[0]!.trim().toLowerCase())
    if (form !== undefined) return form
  }
  return undefined
}

const OFFERED: ReadonlyMap<string, EventsFormat> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['text/csv', 'csv'],
  ['application/cloudevents-batch+json', 'cloudevents'],
  ['text/event-stream', 'sse'],
])

/** Format of the answer: the parameter `format`, or, without it, the first type in `Accept` that the route offers. */
export const formatOf = ({ query: { format }, request }: EventsCall): EventsFormat =>
  format ?? acceptedForm(request.headers.accept, OFFERED) ?? 'json'

const PAGE = 100
const PAGE_MAX = 1000

const placeShown = ({ index, position }: Head) => ({ index, position: String(position) })

/** JSON text of an event, with the name of the static token that acted, and its personal data if `open` is set. */
export const eventPresenter = (service: HistoryService, open?: OpenEvent) => {
  const nameOf = actorNames(service)
  return async (event: IndexedEvent): Promise<Json<HistoryEvent>> => {
    const [name, isSealed] = [await nameOf(event.fields.actor), service.ledger.covers(event.index)]
    return eventJson(event, name, isSealed, open && (await open(event))) as Json<HistoryEvent>
  }
}

/** Returns the event at the position that a text states. Refuses with `not_found` if no event has this position. */
export const eventAt = async ({ history }: Pick<HistoryService, 'history'>, text: string): Promise<IndexedEvent> => {
  const position = positionOf(text)
  const head = await history.head()
  const event = head && position !== undefined ? await history.at(position, head) : undefined
  return event ?? refuse('not_found', `event "${text}" not found`)
}

/** A page: the texts of its events, their bytes with commas, and its end. */
const pageOf = async (
  { history, settings }: HistoryService,
  { query: asked, request }: EventsCall,
  { filter, bounds }: Selection,
  { head, cursor }: { readonly head: Head; readonly cursor: number | undefined },
  show: (event: IndexedEvent) => Promise<Json<HistoryEvent>> | Json<HistoryEvent>,
) => {
  const limit = asked.limit === 0 ? PAGE : Math.min(asked.limit, PAGE_MAX)
  const pieces: Json<HistoryEvent>[] = []
  let bytes = 0
  const take = async (event: IndexedEvent): Promise<boolean> => {
    const piece = await show(event)
    const size = Buffer.byteLength(piece) + 1
    if (pieces.length > 0 && (bytes + size > settings.mostBytes || !hasRoomFor(request, bytes + size))) return false
    pieces.push(piece)
    bytes += size
    return true
  }
  const page = { filter, bounds, descending: asked.order === 'desc', limit, cursor }
  return { pieces, bytes, ...(await history.page(page, head, take, request.stop)) }
}

/** Scope of the page tokens of a query, the cursor in its page token, and the newest event. */
const placeOf = async (
  { history, pageTokens }: HistoryService,
  { query: { order, pageToken } }: EventsCall,
  { filter, bounds }: Selection,
) => {
  const limits = Object.values(bounds).map((bound) => (bound === undefined ? '' : String(bound)))
  const scope = ['events', filter, order, ...limits]
  const cursor = pageToken === '' ? undefined : (pageTokens.read(scope, pageToken) as number)
  return { scope, cursor, head: await history.head() }
}

/** Opens the personal data of a page after the read of its whole range was recorded; undefined for a sealed page. */
const openingOf = async (service: HistoryService, call: EventsCall, { filter, bounds }: Selection, head: Head) => {
  if (!isOpening(call)) return undefined
  const indexes = indexesOf(await service.history.range(filter, bounds, head))
  return recordedOpening(service, call, { format: 'json', filter: filterGiven(service, call), ...indexes })
}

/** One page of events as JSON (api.md §16.4). */
export const eventPageAnswer = async (service: HistoryService, call: EventsCall): Promise<Answer<HistoryEvents>> => {
  await takePage(call)
  const { history, pageTokens } = service
  const selection = selectionOf(call)
  const { scope, cursor, head } = await placeOf(service, call, selection)
  if (!head) return { body: { events: [], nextPageToken: '' } }
  const { filter, bounds } = selection
  const open = await openingOf(service, call, selection, head)
  const show = eventPresenter(service, open)
  const { pieces, bytes, through, next } = await pageOf(service, call, selection, { head, cursor }, show)
  const count = call.query.count ? await history.count(bounds, filter, head, call.request.stop) : undefined
  if (!open) countReading(service, call, pieces.length)
  return listed(
    ['events'],
    { pieces, bytes },
    {
      nextPageToken: next === undefined ? '' : pageTokens.write(scope, next),
      ...(through && { through: placeShown(through) }),
      head: placeShown(head),
      ...(count && { count }),
    },
  )
}

const BATCH = 'application/cloudevents-batch+json'

/** Address of the next page, relative to the address of this page. */
const nextAddress = ({ request }: EventsCall, token: string): string => {
  const given = parametersOf(request).flatMap(({ name, text }) =>
    /^page_?token$/i.test(name) ? [] : [[name, text ?? ''] as [string, string]],
  )
  return `?${String(new URLSearchParams([...given, ['pageToken', token]]))}`
}

/** One page of events in the batch format of CloudEvents (api.md §16.15). */
export const cloudEventPageAnswer = async (
  service: HistoryService,
  call: EventsCall,
): Promise<Answer<HistoryEvents>> => {
  await takePage(call)
  const ledger = service.ledger.id() ?? ledgerNotBegun()
  const selection = selectionOf(call)
  const { scope, cursor, head } = await placeOf(service, call, selection)
  const show = (event: IndexedEvent) => cloudEvent(event, ledger) as Json<HistoryEvent>
  const { pieces, bytes, through, next } = head
    ? await pageOf(service, call, selection, { head, cursor }, show)
    : { pieces: [], bytes: 0, through: undefined, next: undefined }
  countReading(service, call, pieces.length, 'cloudevents')
  const headers = {
    'content-type': BATCH,
    ...(through && { 'history-through': String(through.index) }),
    ...(next !== undefined && {
      link: `<${nextAddress(call, service.pageTokens.write(scope, next))}>; rel="next"`,
    }),
  }
  return { ...batched({ pieces, bytes }), headers }
}
