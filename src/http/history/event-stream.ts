import { invalid } from '../../base/errors.ts'
import { sliced } from '../../base/event-loop.ts'
import type { EventsFormat, HistoryEvents } from '../../contract/history/events.ts'
import { named } from '../../contract/readers/input.ts'
import type { ExportStep } from '../../history/history.ts'
import { ocsfEvent } from '../../history/ocsf.ts'
import type { OpenEvent, OpenedFields } from '../../history/opened-fields.ts'
import { CSV_TITLES, csvLine } from '../../verifier/export/csv.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import { eventLine } from '../../verifier/export/ndjson.ts'
import { contextOf } from '../commands/command-context.ts'
import { streamOf } from '../memory/stream-slots.ts'
import type { Call } from '../route/route.ts'
import type { HistoryService } from '../services/history.ts'
import { holderOfRequest } from '../steps/as-of-readings.ts'
import { parametersOf } from '../wire/path.ts'
import { type Answer, streamHeaders } from '../wire/reply.ts'
import {
  type EventsCall,
  filterGiven,
  indexesOf,
  isAuditor,
  isOpening,
  recordedOpening,
  selectionOf,
} from './event-page.ts'
import { ledgerNotBegun } from './newest-checkpoint.ts'

/** Holder of a stream of the history, as the limits of streams count it (api.md §16.5). */
export const streamHolder = async (
  { pastReadings }: Pick<HistoryService, 'pastReadings'>,
  { caller: { reach }, request }: Pick<Call<unknown, unknown>, 'caller' | 'request'>,
) => ({
  holder: await holderOfRequest(pastReadings, request),
  isAuditor: reach === undefined || isAuditor(reach),
})

/** Number of examined events from which an export is recorded individually. */
const RECORDED = 1_000
/** Characters that are sent as one chunk. */
const CHUNK = 65_536
/**
 * Memory in bytes that an export needs: a page of the log with 1,000 events of usual size. A page of large events is
 * larger.
 */
const HOLDS = 1_048_576

type ExportFormat = Exclude<EventsFormat, 'json' | 'sse' | 'cloudevents'>

type Form = {
  readonly type: string
  readonly extension: string
  readonly head: string
  /** Text of an event; undefined for an event that the form leaves out. */
  readonly text: (event: IndexedEvent, opened?: OpenedFields) => string | undefined
}

const NDJSON = { type: 'application/x-ndjson', extension: 'ndjson', head: '' }

const FORMS: Readonly<Record<Exclude<ExportFormat, 'ocsf'>, Form>> = {
  ndjson: { ...NDJSON, text: eventLine },
  csv: {
    type: 'text/csv; charset=utf-8; header=present',
    extension: 'csv',
    head: CSV_TITLES,
    text: csvLine,
  },
}

/** Form of an export. OCSF events name the origin of the ledger. */
const formOf = (service: HistoryService, format: ExportFormat): Form => {
  if (format !== 'ocsf') return FORMS[format]
  const origin = service.ledger.origin() ?? ledgerNotBegun()
  const text = (event: IndexedEvent, opened?: OpenedFields): string | undefined => {
    const json = ocsfEvent(event, origin, opened)
    return json && `${json}\n`
  }
  return { ...NDJSON, extension: 'ocsf.ndjson', text }
}

/** Chunks of an export, and the number of events in them so far. `open` opens the personal data of each event. */
const chunksOf = (
  form: Form,
  steps: AsyncIterable<readonly ExportStep[]>,
  limit: number,
  open: OpenEvent | undefined,
) => {
  let count = 0
  const chunks = async function* (): AsyncGenerator<Buffer> {
    let text = form.head
    for await (const batch of open ? sliced(steps) : steps) {
      for (const { event } of batch) {
        if (!event) continue
        const more = form.text(event, open && (await open(event)))
        if (more === undefined) continue
        text += more
        count++
        if (text.length >= CHUNK) {
          yield Buffer.from(text)
          text = ''
        }
        if (limit > 0 && count === limit) return yield Buffer.from(text)
      }
    }
    yield Buffer.from(text)
  }
  return { chunks: chunks(), count: () => count }
}

/**
 * All events of a range as NDJSON, CSV or OCSF (api.md §16.5). Counts as a running stream, and records the export before it
 * begins.
 */
export const eventStreamAnswer = async (
  service: HistoryService,
  call: EventsCall,
  format: ExportFormat,
): Promise<Answer<HistoryEvents>> => {
  const { history, historyReads } = service
  const { query: asked, caller, route, request } = call
  if (asked.order === 'desc') invalid('order', 'must be asc')
  if (asked.pageToken !== '') invalid('pageToken', 'must be empty')
  const { filter, bounds } = selectionOf(call)
  const head = await history.head()
  const range = await history.range(filter, bounds, head)
  const { fromIndex: from, toIndex: to } = indexesOf(range)
  const form = formOf(service, format)
  const origin = service.ledger.origin()
  const headers = {
    ...streamHeaders(form.type),
    'history-range': `${from}-${to}`,
    ...(origin !== undefined && { 'history-origin': origin }),
    ...(named(parametersOf(request), 'format') && {
      'content-disposition': `attachment; filename="rollcall-events-${from}-${to}.${form.extension}"`,
    }),
  }
  if (request.method === 'HEAD') return { body: undefined, chunks: [], headers }
  const isLimited = asked.limit > 0 && Object.keys(filter).length === 0
  const isLong = (isLimited ? Math.min(asked.limit, to - from) : to - from) > RECORDED
  const isIndividual = isLong || isOpening(call)
  let count = () => 0
  const over = streamOf(service, call, await streamHolder(service, call), () => {
    if (!isIndividual) historyReads.counted(caller.actor, { route, format, events: count(), opened: false })
  })
  const record = { format, filter: filterGiven(service, call), fromIndex: from, toIndex: to }
  const open = await recordedOpening(service, call, record)
  if (isIndividual && !open)
    await historyReads.exported(contextOf(call, service), route, { ...record, personal: false })
  const steps = history.exported(filter, range, over)
  const made = chunksOf(form, steps, asked.limit, open)
  count = made.count
  const trailers = { names: 'History-Count', values: () => ({ 'History-Count': String(count()) }) }
  return { body: undefined, chunks: made.chunks, holds: HOLDS, headers, trailers }
}
