import { forEachSliced, sliced, timeSlicer } from '../../base/event-loop.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type IndexedEvent, indexedEvent } from '../../verifier/export/event-fields.ts'
import { type EventFilter, eventFilter } from '../../verifier/export/filter.ts'
import { summaryOfEvent } from '../event-json.ts'
import {
  ascending,
  descending,
  type Head,
  type Indexed,
  type LogRange,
  type Sources as RangeSources,
} from '../ranges.ts'
import { type Bitmap, bitsBetween, countBits, intersect, offsetsIn, SEGMENT } from './bitmap.ts'
import type { EventSearch, FilterSearch } from './search.ts'

/** Maximum number of segments and of rows in one query. The first query has one segment. */
const [BATCH, ROWS] = [16, 96]
/** Number of events read at once. */
const TOGETHER = 8
/** Share of matching events from which a segment's part of the log is read as a whole. */
const DENSE = SEGMENT / 4

export type Sources = RangeSources & {
  readonly log: Pick<EventLog, 'readAll' | 'at'>
  readonly search: EventSearch
}

/**
 * Part of a range of the log in one segment: indexes from `first` up to `last`. `bits`: events that may pass the
 * filter; undefined if all of them must be examined.
 */
type SegmentPart = {
  readonly segment: number
  readonly first: number
  readonly last: number
  readonly bits: Bitmap | undefined
  /** True if the events in `bits` are exactly those that pass the filter. */
  readonly isExact: boolean
}

/** Segments of a range of the log in the order of the search, in growing batches. */
function* batchesOf({ low, high }: LogRange, most: number, isDescending: boolean): Generator<readonly number[]> {
  const [begin, end] = [Math.floor((low.index + 1) / SEGMENT), Math.floor(high.index / SEGMENT)]
  let size = 1
  for (let n = 0; n <= end - begin; size = Math.min(size * 2, most)) {
    const count = Math.min(size, end - begin + 1 - n)
    yield Array.from({ length: count }, (_, each) => (isDescending ? end - n - each : begin + n + each))
    n += count
  }
}

/** Parts of a range of the log, with the events that may pass a filter. */
async function* partsOf(
  { signal }: Pick<Sources, 'signal'>,
  found: FilterSearch,
  range: LogRange,
  isDescending = false,
): AsyncGenerator<readonly SegmentPart[]> {
  const { low, high } = range
  if (high.index <= low.index) return
  const most = Math.max(1, Math.min(BATCH, Math.floor(ROWS / Math.max(1, found.rows))))
  for (const segments of batchesOf(range, most, isDescending)) {
    if (signal.aborted) return
    const bitmaps = await found.find(segments)
    yield segments.map((segment, n) => {
      const begin = segment * SEGMENT
      const [first, last] = [Math.max(begin, low.index + 1), Math.min(begin + SEGMENT - 1, high.index)]
      const bits = bitmaps[n]
      if (bits && last + 1 - first < SEGMENT) intersect(bits, bitsBetween(first - begin, last + 1 - begin))
      return { segment, first, last, bits, isExact: found.isExact }
    })
  }
}

/**
 * One step through a range of the log, with the index of the last event examined. `event`: the event at this index, if
 * it passes the filter. `isExamined`: false for events that the index excludes.
 */
export type ScanStep = {
  readonly index: number
  readonly position?: bigint
  readonly event?: IndexedEvent | undefined
  readonly isExamined: boolean
}

type Passes = ReturnType<typeof eventFilter>

const scannedStep = (passes: Passes, index: number, record: Stored): ScanStep => {
  const fields = passes(record)
  const event = fields && indexedEvent(index, record, fields === 'passed' ? undefined : fields)
  return { index, position: record.position, event, isExamined: true }
}

/**
 * Steps of a scan in pages. A step is computed when it is requested, so the caller yields to the event loop between two steps.
 */
type Scan = AsyncGenerator<Iterable<ScanStep>>

function* scannedPage(passes: Passes, page: readonly Indexed[]): Generator<ScanStep> {
  for (const { place, record } of page) yield scannedStep(passes, place.index, record)
}

/** Examines all events of a range of the log. */
async function* scanAll(sources: Sources, passes: Passes, range: LogRange, isDescending: boolean): Scan {
  for await (const page of isDescending ? descending(sources, range) : ascending(sources, range))
    yield scannedPage(passes, page)
}

/** Range of the log that a part covers. */
const rangeOfPart = async (
  { find }: Sources,
  part: SegmentPart,
  range: LogRange,
  positions: readonly number[] | undefined,
): Promise<LogRange> => {
  const begin = part.segment * SEGMENT
  const placeOf = async (index: number): Promise<Head> => {
    if (index === range.low.index) return range.low
    if (index === range.high.index) return range.high
    const [own, next] = [positions?.[index - begin], positions?.[index + 1 - begin]]
    if (own !== undefined) return { index, position: BigInt(own) }
    if (next !== undefined) return { index, position: BigInt(next) - 1n }
    return { index, position: (await find((place) => place.index <= index, range.high)).position }
  }
  return { low: await placeOf(part.first - 1), high: await placeOf(part.last) }
}

/**
 * Reads the events at these positions. Returns undefined for an event that is not at its position, or does not pass an
 * exact search.
 */
async function* found(
  { log, search, signal }: Sources,
  passes: Passes,
  { isExact }: SegmentPart,
  places: readonly Head[],
): AsyncGenerator<readonly ScanStep[] | undefined> {
  for (let n = 0; n < places.length && !signal.aborted; n += TOGETHER) {
    const chunk = places.slice(n, n + TOGETHER)
    const records = await Promise.all(chunk.map(({ position }) => log.at(position)))
    const steps: ScanStep[] = []
    await forEachSliced(chunk.entries(), ([each, { index, position }]) => {
      const record = records[each]
      const step = record?.position === position ? scannedStep(passes, index, record) : undefined
      if (step && (step.event || !isExact)) steps.push(step)
    })
    const isWhole = steps.length === chunk.length
    if (!isWhole) search.onDamage(`events ${chunk[0]!.index} to ${chunk.at(-1)!.index}`)
    yield isWhole ? steps : undefined
  }
}

/** Steps of the search through one part of the index. The last step reaches the end of this part. */
async function* scanPart(
  sources: Sources,
  passes: Passes,
  part: SegmentPart,
  range: LogRange,
  isDescending = false,
): Scan {
  const { segment, bits, first, last } = part
  const end = { index: isDescending ? first : last, isExamined: false }
  const count = bits && countBits(bits)
  if (count === 0) return yield [end]
  const positions = count === undefined ? undefined : await sources.search.positionsOf(segment)
  if (!bits || !positions || count! > DENSE)
    return yield* scanAll(sources, passes, await rangeOfPart(sources, part, range, positions), isDescending)
  const offsets = isDescending ? offsetsIn(bits).toReversed() : offsetsIn(bits)
  const chosen = offsets.map((offset) => ({
    index: segment * SEGMENT + offset,
    position: BigInt(positions[offset]!),
  }))
  let next = isDescending ? last : first
  for await (const steps of found(sources, passes, part, chosen)) {
    if (!steps) {
      const remaining = isDescending ? { ...part, last: next } : { ...part, first: next }
      return yield* scanAll(sources, passes, await rangeOfPart(sources, remaining, range, undefined), isDescending)
    }
    yield steps
    next = steps.at(-1)!.index + (isDescending ? -1 : 1)
  }
  yield [end]
}

/**
 * Steps through a range of the log in order. Every event that passes the filter is among the steps. Parts of the log
 * that are not in the index are read as a whole.
 */
export async function* scanRange(sources: Sources, filter: EventFilter, range: LogRange, isDescending = false): Scan {
  const passes = eventFilter(filter, summaryOfEvent)
  const search = sources.search.by(filter)
  if (search.isPlain) return yield* scanAll(sources, passes, range, isDescending)
  for await (const parts of partsOf(sources, search, range, isDescending))
    for (const part of parts) yield* scanPart(sources, passes, part, range, isDescending)
}

type ScanOptions = {
  /** Maximum number of examined events that the index cannot decide. */
  readonly most: number
  /** Receives the events of a segment whose result follows from the index alone. Returns false if each event must be read. */
  readonly decided: (segment: number, bits: Bitmap) => boolean | Promise<boolean>
  /** Receives an examined event that passes the filter. */
  readonly take: (event: IndexedEvent) => void
  /** True if further events cannot change the result. */
  readonly isEnough?: () => boolean
}

/**
 * Goes through the events of a range of the log that pass a filter. Returns false if it ends before the end of the
 * range of the log.
 */
export const scanEvents = async (
  sources: Sources,
  filter: EventFilter,
  range: LogRange,
  { most, decided, take, isEnough = () => false }: ScanOptions,
): Promise<boolean> => {
  const passes = eventFilter(filter, summaryOfEvent)
  const pause = timeSlicer()
  let examined = 0
  for await (const parts of sliced(partsOf(sources, sources.search.by(filter), range), pause))
    for (const part of parts) {
      if (!(part.bits && part.isExact && (await decided(part.segment, part.bits))))
        for await (const steps of sliced(scanPart(sources, passes, part, range), pause))
          for (const { event } of steps) {
            if (examined++ === most) return false
            if (event) take(event)
            if (isEnough()) return false
          }
      if (isEnough()) return false
    }
  sources.signal.throwIfAborted()
  return true
}
