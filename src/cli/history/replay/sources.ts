import type { ComparedModels, ComparedRow, ReplayedPages } from '../../../app/offline/replay.ts'
import type { Clock } from '../../../base/clock.ts'
import { fail } from '../../../base/failure.ts'
import type { Config } from '../../../config/load.ts'
import type { ReadModel, ReadModelRow } from '../../../contract/history/state.ts'
import type { GivenExport } from '../../../verifier/check/inputs.ts'
import { lineReader } from '../../../verifier/check/lines.ts'
import type { StoredRecord } from '../../../verifier/entry.ts'
import { indexedEvent } from '../../../verifier/export/event-fields.ts'
import { eventLine } from '../../../verifier/export/ndjson.ts'
import { linesOfFile } from '../../../verifier/export/read-file.ts'
import { type Client, segment } from '../../client/client.ts'
import { embeddedConfig } from '../../offline/store-config.ts'
import { type CommandServices, clientOf, momentOf, type TargetOptions } from '../../options.ts'
import { linesIn, serviceSource } from '../export/sources.ts'
import { indexIn } from '../filters.ts'

const broken = (): never => fail('failed', 'The service sent a line that is not a row of a read model.')

const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return broken()
  }
}

const rowIn = (line: string): ComparedRow => {
  const { key, position, sha256 } = parsed(line) as ReadModelRow
  if (typeof key !== 'string' || typeof sha256 !== 'string' || !/^\d{1,19}$/.test(position)) broken()
  return { key, sha256, position: BigInt(position) }
}

/** Read models of a running service (api.md §16.19). */
const modelsOfService = (client: Client, stop: AbortSignal): ComparedModels => ({
  rows: async (name, version) => {
    const { body } = await client.open(`/audit/v1/read-models/${segment(name)}`, {}, stop)
    const pages = linesIn(body!)
    const first = await pages.next()
    const [head, ...rest] = first.done ? broken() : first.value
    if ((parsed(head ?? broken()) as ReadModel).version !== version) {
      await pages.return(undefined)
      return undefined
    }
    return (async function* () {
      yield rest.map(rowIn)
      for await (const lines of pages) yield lines.map(rowIn)
    })()
  },
})

/** The read models that `--compare` names: those of a service if it is an address, else those of a data directory. */
export const comparedModels = async (
  { compare, into, ...options }: TargetOptions & { readonly compare?: string; readonly into?: string },
  given: CommandServices,
  stop: AbortSignal,
): Promise<Config | ComparedModels | undefined> => {
  if (compare === undefined) return undefined
  if (!/^https?:\/\//i.test(compare)) return embeddedConfig({ data: compare }, given.terminal)
  if (into !== undefined) fail('usage', '--compare with an address cannot be used with --into.')
  return modelsOfService(await clientOf({ ...options, address: compare }, given), stop)
}

const PAGE = 1_000

/** Records of a log from index 0 on. */
export type ReplaySource = { readonly pages: ReplayedPages; readonly total: number | undefined }

/** Records of the files of an export. Fails with exit code 3 at a line that is not the next event. */
export const exportedRecords = ({ manifest, paths }: GivenExport): ReplaySource => {
  const { format, filter, index, gzip } = manifest
  if (format !== 'ndjson') fail('usage', `An export in the format ${format} cannot be replayed; use ndjson.`)
  if (Object.keys(filter).length > 0 || index.from !== 0)
    fail(
      'usage',
      'Only an export without a filter and from index 0 on can be replayed, because streams need their beginning.',
    )
  async function* pages() {
    const read = lineReader('ndjson', manifest)
    let next = 0
    for (const path of paths)
      for await (const { lines } of linesOfFile(path, { gzip, read }, { sha256: '', bytes: 0 })) {
        const records: StoredRecord[] = lines.map((line) =>
          line?.index === next++
            ? line.record()
            : fail('check', `${path} does not have event ${next - 1} in its place.`),
        )
        for (let from = 0; from < records.length; from += PAGE) yield records.slice(from, from + PAGE)
      }
  }
  return { pages: pages(), total: index.to }
}

/** Records of a running service up to its newest event. */
export const recordsOfService = async (client: Client, clock: Clock, stop: AbortSignal): Promise<ReplaySource> => {
  const all = { filter: {}, bounds: {}, personal: 'sealed' } as const
  const source = serviceSource(client, clock)
  const range = await source.range(all)
  async function* pages() {
    for await (const events of source.events(all, range, stop)) {
      for (let from = 0; from < events.length; from += PAGE)
        yield events.slice(from, from + PAGE).map(({ event }) => event().record)
    }
  }
  return { pages: pages(), total: range.to }
}

/** Tests if a record is in the prefix of the log that a moment names: an index, a position or an instant. */
export const untilTest = (moment: string, now: number): ((record: StoredRecord, index: number) => boolean) => {
  const last = indexIn(moment)
  if (last !== undefined) return (_, index) => index <= last
  const at = momentOf(moment, now, '--until')
  if (/^\d+$/.test(at)) return ({ position }) => position <= BigInt(at)
  const instant = new Date(at).toISOString()
  // Times have a fixed form, so the settled time is after the instant as soon as one time is.
  return ({ time }) => time <= instant
}

type Pace = {
  readonly isWithin: (record: StoredRecord, index: number) => boolean
  /** Factor of the speed at which the events were recorded; undefined: without pauses. */
  readonly speed: number | undefined
  readonly print: ((line: string) => void) | undefined
  readonly clock: Pick<Clock, 'sleep'>
  readonly signal: AbortSignal
}

/** Ends pages at the first record that is not within the prefix, prints the records, and pauses between them. */
export async function* paced(
  pages: ReplayedPages,
  { isWithin, speed, print, clock, signal }: Pace,
): AsyncGenerator<readonly StoredRecord[]> {
  let [index, before] = [0, undefined as string | undefined]
  for await (const page of pages) {
    const end = page.findIndex((record, n) => !isWithin(record, index + n))
    const found = end < 0 ? page : page.slice(0, end)
    if (print)
      for (const [n, record] of found.entries()) {
        const gap = before === undefined ? 0 : Date.parse(record.time) - Date.parse(before)
        before = record.time
        if (speed !== undefined && gap > 0) await clock.sleep(gap / speed, signal)
        if (signal.aborted) return
        print(eventLine(indexedEvent(index + n, record)))
      }
    if (found.length > 0) yield found
    index += found.length
    if (end >= 0) return
  }
}
