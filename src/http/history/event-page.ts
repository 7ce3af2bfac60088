import { refuse } from '../../base/errors.ts'
import type { HistoryEvent, HistoryEvents } from '../../contract/history/events.ts'
import { positionOf } from '../../contract/readers/moment.ts'
import { eventJson } from '../../history/event-json.ts'
import type { OpenEvent } from '../../history/opened-fields.ts'
import type { Head } from '../../history/ranges.ts'
import { cloudEvent } from '../../verifier/export/cloud-events.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import { hasRoomFor, takePage } from '../memory/room.ts'
import { actorNames } from '../present/last-change.ts'
import type { HistoryService } from '../services/history.ts'
import { parametersOf } from '../wire/path.ts'
import { batched, listed } from '../wire/pieces.ts'
import type { Answer, Json } from '../wire/reply.ts'
import { ledgerNotBegun } from './newest-checkpoint.ts'
import { type EventsCall, filterGiven, indexesOf, type Selection, selectionOf } from './query.ts'
import { countReading, isOpening, recordedOpening } from './recorded-reads.ts'

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
  return recordedOpening(service, call, { format: 'json', filter: filterGiven(call), ...indexes })
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
