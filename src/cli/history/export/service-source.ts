import type { Clock } from '../../../base/clock.ts'
import { EXIT, fail, isFailure } from '../../../base/failure.ts'
import type { OpenedFields } from '../../../history/opened-fields.ts'
import { indexedEvent } from '../../../verifier/export/facts.ts'
import { readNdjson } from '../../../verifier/export/ndjson.ts'
import type { Client } from '../../client/client.ts'
import { ledgerNow, nodesOfService } from '../../ledger/ledger-client.ts'
import { EVENTS } from '../event.ts'
import type { ExportedEvent } from './file-encoder.ts'
import type { ExportRange, ExportSelection, ExportSource } from './source.ts'

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
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop()!
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
        const isBroken = isFailure(error) ? error.exit === EXIT.unavailable : error instanceof TypeError
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
