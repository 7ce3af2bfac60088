import type { StoredRecords } from '../../../app/stores/stored-records.ts'
import type { Clock } from '../../../base/clock.ts'
import { sliced } from '../../../base/event-loop.ts'
import { fail, isFailure } from '../../../base/failure.ts'
import { eventsQuery } from '../../../contract/history/events.ts'
import { summaryOfEvent } from '../../../history/event-json.ts'
import { knownNames } from '../../../history/event-names.ts'
import type { OpenedFields } from '../../../history/opened-fields.ts'
import { type LeafList, leafList } from '../../../verifier/check/leaf-list.ts'
import { entryOf } from '../../../verifier/entry.ts'
import { type IndexedEvent, indexedEvent } from '../../../verifier/export/event-fields.ts'
import { eventFilter, filterIn } from '../../../verifier/export/filter.ts'
import { eventLine, readNdjson } from '../../../verifier/export/ndjson.ts'
import { leafOf } from '../../../verifier/hashes.ts'
import type { ReadNodes } from '../../../verifier/proof/proofs.ts'
import { type Client, splitAt } from '../../client/client.ts'
import { type LedgerNow, ledgerNow, nodesOfService } from '../../ledger/ledger-client.ts'
import { EVENTS } from '../event.ts'

/** An event on its way into a file: its NDJSON line, and for other forms the event and its opened personal data. */
export type ExportedEvent = {
  readonly index: number
  readonly line: () => string
  readonly event: () => IndexedEvent
  readonly opened?: () => OpenedFields | undefined
}

/** Encodes the events of one file. Each call returns the next bytes of the file, or an empty text. */
export type FileEncoder = {
  readonly head: () => string | Buffer
  readonly add: (event: ExportedEvent, text: string) => string | Buffer
  readonly end: () => string | Buffer
}

/** Examined indexes: from the first up to but excluding the second. */
export type ExportRange = { readonly from: number; readonly to: number }

/** Filter and bounds of an export as parameters of api.md §16.3 with their texts. */
export type ExportSelection = {
  readonly filter: Readonly<Record<string, string>>
  readonly bounds: Readonly<Partial<Record<'after' | 'before' | 'afterIndex' | 'beforeIndex', string>>>
  readonly personal: 'sealed' | 'open'
}

/** Source of events: a service, or a store. */
export type ExportSource = {
  /** Ledger of the source with its newest checkpoint; fails if it has none. */
  readonly ledger: () => Promise<LedgerNow>
  /** Range of a selection up to the newest event. */
  readonly range: (selection: ExportSelection) => Promise<ExportRange>
  /** Events of a range that pass, in ascending order. Ends when `stop` aborts. */
  readonly events: (
    selection: ExportSelection,
    range: ExportRange,
    stop: AbortSignal,
  ) => AsyncIterable<readonly ExportedEvent[]>
  /** Reads the hashes of the tree of so many leaves. */
  readonly nodes: (size: number) => Promise<ReadNodes>
}

/** Filter and bounds of a selection, read as the service reads them. */
const readSelection = ({ filter, bounds }: ExportSelection) => {
  const texts = Object.entries({ ...filter, ...bounds })
  const asked = eventsQuery(knownNames).read(texts.map(([name, text]) => ({ name, text, bare: false })))
  return { asked, passes: eventFilter(filterIn(asked), summaryOfEvent) }
}

/** Events of a store, read from its log. The leaves of its records give the hashes of the tree. */
export const storeSource = (store: StoredRecords): ExportSource => {
  let leaves: LeafList | undefined

  const range = async (selection: ExportSelection): Promise<ExportRange> => {
    const { after, before, afterIndex = -1, beforeIndex = Infinity, from, to } = readSelection(selection).asked
    let [index, first, end] = [0, 0, undefined as number | undefined]
    let settled = ''
    for await (const page of store.pages())
      for (const { position, time } of page) {
        // Bounds of time are those of the settled time.
        settled = time > settled ? time : settled
        const isBefore =
          index <= afterIndex || (after !== undefined && position <= after) || (from !== undefined && settled < from)
        const isWithin =
          index < beforeIndex && (before === undefined || position < before) && (to === undefined || settled < to)
        if (isBefore) first = index + 1
        if (!isWithin) end ??= index
        index++
      }
    return { from: Math.min(first, index), to: Math.max(Math.min(first, index), end ?? index) }
  }

  const events: ExportSource['events'] = async function* (selection, { from, to }, stop) {
    const { passes } = readSelection(selection)
    const found = leafList()
    let index = 0
    for await (const part of sliced(store.pages())) {
      if (stop.aborted) return
      const batch: ExportedEvent[] = []
      for (const record of part) {
        found.add(leafOf(entryOf(record)))
        const place = index++
        if (place >= from && place < to && passes(record)) {
          const event = indexedEvent(place, record)
          batch.push({ index: place, line: () => eventLine(event), event: () => event })
        }
      }
      yield batch
    }
    leaves = found
  }
  return {
    ledger: async () => (await store.ledger()) ?? fail('unavailable', 'The store contains no ledger yet.'),
    range,
    events,
    nodes: async (size) => {
      const read = leaves ?? fail('failed', 'The leaves of the tree were not read from the store.')
      return read.size < size
        ? fail('check', `The store has ${read.size} records, fewer than the ${size} of the checkpoint.`)
        : read.nodes
    },
  }
}

/** Pauses in ms before the stream is opened again without progress. */
const PAUSES = [250, 1_000, 4_000, 15_000]
const LINE_START = '{"index":'

const eventIn = (line: string): ExportedEvent => ({
  index: Number(line.slice(LINE_START.length, line.indexOf(','))),
  line: () => line,
  event: () => {
    const [read] = readNdjson(Buffer.from(line)).lines
    const record = read?.record() ?? fail('failed', 'The service sent a line that is not an event.')
    return indexedEvent(read!.index, record)
  },
  opened: () => (JSON.parse(line) as { readonly personal?: OpenedFields }).personal,
})

/** Whole lines of a body as they arrive, without their ends; at least one at a time. */
export async function* linesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly string[]> {
  const whole = splitAt('\n')
  for await (const chunk of body) {
    const lines = whole(chunk)
    if (lines.length > 0) yield lines
  }
}

const queryOf = ({ filter, bounds, personal }: ExportSelection) => ({
  ...filter,
  ...bounds,
  format: 'ndjson',
  ...(personal === 'open' && { personal }),
})

/** Events of a service. A connection that breaks is opened again behind the last whole line. */
export const serviceSource = (client: Client, clock: Clock): ExportSource => {
  const rangeIn = ({ headers }: Response): ExportRange => {
    const [, from, to] = /^(\d+)-(\d+)$/.exec(headers.get('history-range') ?? '') ?? []
    return from === undefined
      ? fail('failed', 'The answer of the service has no History-Range.')
      : { from: Number(from), to: Number(to) }
  }
  const events: ExportSource['events'] = async function* (selection, { from, to }, stop) {
    let [next, failures] = [from, 0]
    while (next < to && !stop.aborted) {
      try {
        const bounds = { afterIndex: String(next - 1), beforeIndex: String(to) }
        const { body } = await client.open(EVENTS, { query: queryOf({ ...selection, bounds }) }, stop)
        for await (const lines of linesIn(body!)) {
          const found = lines.map((line) => eventIn(`${line}\n`))
          yield found
          ;[next, failures] = [found.at(-1)!.index + 1, 0]
        }
        return
      } catch (error) {
        if (stop.aborted) return
        const isBroken = isFailure(error) ? error.kind === 'unavailable' : error instanceof TypeError
        const pause = PAUSES[failures++]
        if (!isBroken || pause === undefined) throw error
        await clock.sleep(pause, stop)
      }
    }
  }
  return {
    ledger: () => ledgerNow(client),
    range: async (selection) => {
      const query = queryOf(selection)
      const never = new AbortController().signal
      try {
        return rangeIn(await client.open(EVENTS, { method: 'HEAD', query }, never))
      } catch (error) {
        // The answer to a HEAD has no message.
        await client.ask('GET', EVENTS, { query: { ...query, format: 'json', limit: 1 } })
        throw error
      }
    },
    events,
    nodes: async (size) => nodesOfService(client, size),
  }
}
