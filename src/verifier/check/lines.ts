import { fail } from '../../base/failure.ts'
import { cloudEventReader } from '../export/cloud-events.ts'
import { csvReader } from '../export/csv.ts'
import { eventFilter, filterOfTexts, type SummaryOf } from '../export/filter.ts'
import { ledgerIdIn, type Manifest } from '../export/manifest.ts'
import { readNdjson, readOpenedNdjson } from '../export/ndjson.ts'
import { type FileLines, linesOfFile, type Measured } from '../export/read-file.ts'
import type { ReadLine, ReadLines } from '../export/read-line.ts'
import { tamperingKind } from '../proof/tampering.ts'
import type { Findings } from './findings.ts'

/** Reads the events of a file in their order, and measures it. */
type LinesOf = (path: string, measured: Measured) => AsyncIterable<FileLines<ReadLine>>

/** Parts of a check that its caller has: progress, the reader of Parquet, and the summaries for the filter `q`. */
export type Reading = {
  readonly progress?: (events: number, total: number) => void
  readonly parquetLines?: LinesOf
  readonly summaryOf?: SummaryOf
}

/** Returns the reader of one file of lines that hold the stored texts. */
export const lineReader = (
  format: 'ndjson' | 'csv' | 'cloudevents',
  { origin, personal }: Pick<Manifest, 'origin' | 'personal'>,
): ReadLines => {
  if (format === 'csv') return csvReader()
  if (format === 'cloudevents') return cloudEventReader(ledgerIdIn(origin))
  return personal === 'open' ? readOpenedNdjson : readNdjson
}

/** Reader of the files of an export. */
const linesIn = (manifest: Manifest, parquetLines: LinesOf | undefined): LinesOf => {
  const { format, gzip } = manifest
  if (format === 'ocsf')
    return fail(
      'usage',
      'An export in OCSF cannot be verified, because its lines do not contain the stored texts.',
      'Export the same events as ndjson and verify that export.',
    )
  if (format === 'parquet')
    return parquetLines ?? fail('usage', 'This program cannot read Parquet.', 'Use "rollcall events verify" instead.')
  return (path, measured) => linesOfFile(path, { gzip, read: lineReader(format, manifest) }, measured)
}

/** Test of the filter of a manifest; undefined if everything passes. */
const testOf = (
  { filter }: Manifest,
  summaryOf: SummaryOf | undefined,
): ((record: ReturnType<ReadLine['record']>) => boolean) | undefined => {
  if (Object.keys(filter).length === 0) return undefined
  const passes = eventFilter(filterOfTexts(filter), summaryOf)
  return (record) => passes(record) !== undefined
}

/** Order of the indexes in an export of everything: the first one that is not in its place. */
const orderCheck = ({ index: { from, to } }: Manifest, found: Findings) => {
  let [next, isPresent]: [number, boolean] = [from, false]
  let first: { readonly expected: number; readonly index: number } | undefined
  return {
    add: (index: number): void => {
      const expected = next++
      if (first === undefined && index !== expected) first = { expected, index }
      else if (index === first?.expected) isPresent = true
    },
    end: (): void => {
      if (first === undefined) {
        if (next < to) found.add({ kind: 'truncated', index: next })
        return
      }
      const { expected, index } = first
      const isRetained = index >= from && index < to
      found.add({ kind: expected >= to ? 'inserted' : tamperingKind(isRetained, isPresent), index: expected })
    },
  }
}

/**
 * Reads the lines of all files of an export and notes each fault of files, order, derived values and filter. `take`
 * receives the leaf of each line in its order.
 */
export const checkLines = async (
  manifest: Manifest,
  paths: readonly string[],
  found: Findings,
  take: (index: number, leaf: ReadLine['leaf']) => void,
  { progress, parquetLines, summaryOf }: Reading,
): Promise<void> => {
  const passes = testOf(manifest, summaryOf)
  const isWhole = Object.keys(manifest.filter).length === 0
  const order = orderCheck(manifest, found)
  const linesOf = linesIn(manifest, parquetLines)
  const { from, to } = manifest.index
  let last = from - 1
  const checkLine = (line: ReadLine | undefined): void => {
    if (line === undefined) {
      found.add({ kind: 'changed', index: last + 1 })
      if (isWhole) order.add(last + 1)
      last++
      return
    }
    const { index, leaf, isExact } = line
    if (!isExact) found.add({ kind: 'changed', index })
    if (isWhole) order.add(index)
    else if (index <= last) found.add({ kind: 'moved', index })
    if (index < from || index >= to) found.add({ kind: 'outside the range', index })
    if (passes && !passes(line.record())) found.add({ kind: 'does not pass the filter', index })
    take(index, leaf)
    last = index
  }
  let events = 0
  for (const [n, path] of paths.entries()) {
    const stated = manifest.files[n]!
    const measured = { sha256: '', bytes: 0 }
    const before = events
    let [first, end]: [number | undefined, number | undefined] = [undefined, undefined]
    for await (const { lines } of linesOf(path, measured)) {
      for (const line of lines) {
        checkLine(line)
        first ??= line?.index
        end = line?.index ?? end
      }
      events += lines.length
      progress?.(events, manifest.events)
    }
    const isAsStated = events - before === stated.events && first === stated.firstIndex && end === stated.lastIndex
    if (measured.sha256 !== stated.sha256 || measured.bytes !== stated.bytes)
      found.add({ kind: 'wrong file hash', about: stated.name })
    else if (!isAsStated) found.add({ kind: 'wrong number of events', about: stated.name })
  }
  if (isWhole) order.end()
  if (events !== manifest.events) found.add({ kind: 'wrong number of events', about: 'manifest' })
}
