import { timeSlicer } from '../../../base/event-loop.ts'
import { fail } from '../../../base/failure.ts'
import { eventsQuery } from '../../../contract/history/events.ts'
import type { Manifest } from '../../../history/export/manifest.ts'
import type { ReadLine } from '../../../history/export/read-line.ts'
import { eventFilter, filterIn } from '../../../history/filter.ts'
import { tamperingKind } from '../../../ledger/proof/tampering.ts'
import { provenFormOf } from '../export/forms.ts'
import type { Findings } from './findings.ts'

/** Names that a later version may have are accepted: the filter is applied, not validated. */
const anyName = { has: () => true } as unknown as ReadonlySet<string>

/** Test of the filter of a manifest; undefined if everything passes. */
const testOf = ({ filter }: Manifest): ((record: ReturnType<ReadLine['record']>) => boolean) | undefined => {
  const texts = Object.entries(filter)
  if (texts.length === 0) return undefined
  const known = { types: anyName, categories: anyName, methods: [] }
  const asked = eventsQuery(known).read(texts.map(([name, text]) => ({ name, text, bare: false })))
  const passes = eventFilter(filterIn(asked))
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

type LineChecks = {
  /** Takes the leaf of each line in its order. */
  readonly take: (index: number, leaf: ReadLine['leaf']) => void
  /** Called with the number of events read so far. */
  readonly progress: (events: number) => void
}

/**
 * Reads the lines of all files of an export and notes each fault of files, order, derived values and filter.
 */
export const checkLines = async (
  manifest: Manifest,
  paths: readonly string[],
  found: Findings,
  { take, progress }: LineChecks,
): Promise<void> => {
  const passes = testOf(manifest)
  const isWhole = Object.keys(manifest.filter).length === 0
  const order = orderCheck(manifest, found)
  const { format, origin, personal } = manifest
  if (format === 'ocsf')
    return fail(
      'usage',
      'An export in OCSF cannot be verified, because its lines do not contain the stored texts.',
      'Export the same events as ndjson and verify that export.',
    )
  const form = await provenFormOf(format, origin, personal)
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
  const pause = timeSlicer()
  let events = 0
  for (const [n, path] of paths.entries()) {
    const stated = manifest.files[n]!
    const measured = { sha256: '', bytes: 0 }
    const before = events
    let [first, end]: [number | undefined, number | undefined] = [undefined, undefined]
    for await (const { lines } of form.lines(path, manifest.gzip, measured)) {
      for (const line of lines) {
        checkLine(line)
        first ??= line?.index
        end = line?.index ?? end
        const paused = pause()
        if (paused) await paused
      }
      events += lines.length
      progress(events)
    }
    const isAsStated = events - before === stated.events && first === stated.firstIndex && end === stated.lastIndex
    if (measured.sha256 !== stated.sha256 || measured.bytes !== stated.bytes)
      found.add({ kind: 'wrong file hash', about: stated.name })
    else if (!isAsStated) found.add({ kind: 'wrong number of events', about: stated.name })
  }
  if (isWhole) order.end()
  if (events !== manifest.events) found.add({ kind: 'wrong number of events', about: 'manifest' })
}
