import type { IncomingHttpHeaders } from 'node:http'
import { invalid } from '../../base/errors.ts'
import type { HistoryEvents } from '../../contract/history/events.ts'
import type { OpenEvent } from '../../history/opened-fields.ts'
import type { Head } from '../../history/ranges.ts'
import type { EventFilter } from '../../verifier/export/filter.ts'
import { contextOf } from '../commands/command-context.ts'
import { streamOf } from '../memory/stream-slots.ts'
import type { HistoryService } from '../services/history.ts'
import { headerText, wrongHeader } from '../steps/preconditions.ts'
import { type Answer, streamHeaders } from '../wire/reply.ts'
import { type EventsCall, eventPresenter, filterGiven, isAuditor, recordedOpening, selectionOf } from './event-page.ts'
import { streamHolder } from './event-stream.ts'

/** Times in ms: between two checks of the credential, between two heartbeats, and the age at which a stream ends. */
const [CHECK_MS, ALIVE_MS, AGE_MS] = [1_000, 15_000, 3_600_000]
/** Number of events examined without a match after which the stream sends its position to the client. */
const EXAMINED = 20_000
/** Memory in bytes that a live stream needs. */
const HOLDS = 65_536

const RETRY = 'retry: 2000\n\n'

/** Query parameters that a stream without an end cannot have. */
const UNBOUNDED = ['to', 'before', 'beforeIndex'] as const

/** Refuses a `Last-Event-ID` that is no index of the log. */
const noSuchEvent = (): never => wrongHeader('Last-Event-ID', 'must be an index of the log')

/**
 * `Last-Event-ID` of an event stream: index of the last event received, -1 for none; undefined if absent. Any other
 * value is refused with 400 `invalid_header`.
 */
const lastEventId = (headers: IncomingHttpHeaders): number | undefined => {
  const text = headerText(headers, 'last-event-id')
  if (text === undefined || text === '') return undefined
  return /^(?:-1|0|[1-9]\d{0,14})$/.test(text) ? Number(text) : noSuchEvent()
}

/** Index after which a stream starts: `Last-Event-ID`, else the range of the query, else the newest event. */
const startOf = async ({ history }: HistoryService, call: EventsCall, filter: EventFilter): Promise<Head> => {
  const { query, request } = call
  const head = await history.head()
  const newest = head?.index ?? -1
  const received = lastEventId(request.headers)
  if (received !== undefined && received > newest) noSuchEvent()
  const { after, afterIndex } = query
  const given = after === undefined && afterIndex === undefined && query.from === undefined
  const bounds =
    received === undefined ? (given ? { afterIndex: newest } : { after, afterIndex }) : { afterIndex: received }
  return (await history.range(filter, bounds, head)).low
}

/** Waits for work, at most until the signal aborts. */
const unlessAborted = async (signal: AbortSignal, work: Promise<unknown>): Promise<void> => {
  let wake = (): void => undefined
  const aborted = new Promise<void>((resolve) => (wake = resolve))
  signal.addEventListener('abort', wake, { once: true })
  try {
    if (!signal.aborted) await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', wake)
  }
}

/** Items of the batches, one by one. */
async function* eachOf<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<T> {
  for await (const batch of batches) yield* batch
}

/** Events after a position in the log, as they happen. Ends when the credential ends, at shutdown, or after an hour. */
async function* followed(
  service: HistoryService,
  filter: EventFilter,
  start: Head,
  over: AbortSignal,
  isAuthorized: () => Promise<boolean>,
  open: OpenEvent | undefined,
): AsyncGenerator<Buffer> {
  const { history, seen, historyStreams, clock } = service
  const { ending } = historyStreams
  const show = eventPresenter(service, open)
  const began = clock.monotonic()
  let [place, told, checked, alive] = [start, start.index, began, began]
  const mayGoOn = async (): Promise<boolean> => {
    const now = clock.monotonic()
    if (ending.aborted || over.aborted || now - began >= AGE_MS) return false
    if (now - checked < CHECK_MS) return true
    checked = now
    return isAuthorized()
  }

  let begin = RETRY
  const block = (text: string): Buffer => {
    const bytes = Buffer.from(begin + text)
    begin = ''
    return bytes
  }
  // With personal data the answer begins with the first event, because unavailable keys refuse it.
  if (!open) yield block('')
  while (await mayGoOn()) {
    const head = await history.head()
    if (head && head.index > place.index)
      for await (const step of eachOf(history.exported(filter, { low: place, high: head }, over))) {
        place = step.place
        if (step.event) {
          yield block(`id: ${place.index}\ndata: ${await show(step.event)}\n\n`)
          ;[told, alive] = [place.index, clock.monotonic()]
        }
        if (place.index - told >= EXAMINED) {
          yield block(`id: ${place.index}\n\n`)
          ;[told, alive] = [place.index, clock.monotonic()]
        }
        if (!(await mayGoOn())) return
      }
    if (begin !== '') yield block('')
    if (clock.monotonic() - alive >= ALIVE_MS) {
      yield block(place.index > told ? `id: ${place.index}\n\n` : ': keep-alive\n\n')
      ;[told, alive] = [place.index, clock.monotonic()]
    }
    await unlessAborted(ending, seen(place.position + 1n, CHECK_MS))
  }
}

/**
 * The history as server-sent events (api.md §16.9). Counts as a running stream, and records the stream before it
 * begins.
 */
export const liveEvents = (service: HistoryService) => {
  return async (call: EventsCall): Promise<Answer<HistoryEvents>> => {
    const { historyReads, reachNow } = service
    const { query, caller, request, route } = call
    if (query.order === 'desc') invalid('order', 'must be asc')
    for (const name of UNBOUNDED) if (query[name] !== undefined) invalid(name, 'must be empty')
    const { filter } = selectionOf(call)
    const start = await startOf(service, call, filter)
    const headers = streamHeaders('text/event-stream')
    if (request.method === 'HEAD') return { body: undefined, chunks: [], headers }
    const streamer = await streamHolder(service, call)
    const stream = {
      holder: streamer.holder,
      actor: caller.actor,
      filter: filterGiven(service, call),
      fromIndex: start.index + 1,
    }
    const over = streamOf(service, call, streamer, () => historyReads.followed(stream))
    const record = { format: 'sse', filter: stream.filter, fromIndex: stream.fromIndex }
    const open = await recordedOpening(service, call, record)
    if (!open && request.headers['last-event-id'] !== undefined && historyReads.continues(stream))
      historyReads.counted(caller.actor, { route, format: 'sse', events: 0, opened: false })
    else if (!open) await historyReads.exported(contextOf(call, service), route, { ...record, personal: false })
    historyReads.followed(stream)
    const isBounded = filter.within !== undefined
    const isAuthorized = async () => {
      const reach = await reachNow(request)
      return reach !== undefined && (isBounded || isAuditor(reach))
    }
    const chunks = followed(service, filter, start, over, isAuthorized, open)
    return { body: undefined, chunks, holds: HOLDS, headers, live: true }
  }
}
