import { sliced } from '../base/event-loop.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { Sealed } from '../projections/history/log-marks.ts'
import { MARK_EVERY, type Mark, markKey, markSeals, markView, settled } from '../projections/history/log-marks.ts'
import type { Views } from '../projections/views.ts'
import type { EventFilter } from '../verifier/export/filter.ts'

/**
 * Place of an event in the log: its index, its position, and its settled time (the greatest time of all events up to
 * it).
 */
export type LogPosition = { readonly index: number; readonly position: bigint; readonly time: string }

/** Position and index of an event. */
export type Head = Pick<LogPosition, 'index' | 'position'>

/** Place before the first event of the log. */
const START: LogPosition = { index: -1, position: 0n, time: '' }

/** A condition on places in the log that holds up to one of them, and for none after it. */
type UpTo = (place: LogPosition) => boolean

/** Number of marks that one step of the search reads. */
const FANOUT = 16

type FinderSources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly views: Pick<Views, 'getMany'>
  readonly key: Uint8Array
}

const placeOf = ({ index, at, time }: Mark): LogPosition => ({ index, position: BigInt(at), time })

/** Indexes of marks that divide the marks between two others into parts of about the same size. */
const between = (low: number, high: number): readonly number[] => {
  const parts = Math.min(FANOUT, high - low - 1)
  return Array.from({ length: parts }, (_, n) => low + Math.ceil(((n + 1) * (high - low - 1)) / parts))
}

/**
 * Finds the last place in the log for which a condition holds. The search uses the marks and then reads at most the
 * events between two of them. Missing marks only make the search slower.
 */
export const positionFinder = ({ log, views, key }: FinderSources) => {
  const seals = markSeals(key)
  const marksAt = async (numbers: readonly number[]): Promise<readonly LogPosition[]> => {
    const keys = numbers.map((number) => markKey(number * MARK_EVERY))
    const rows = await views.getMany<Sealed<Mark>>(markView, keys)
    return rows.flatMap(({ doc }) => (doc && seals.holds(doc) ? [placeOf(doc)] : []))
  }

  /** The last mark for which the condition holds, and the position of the first known one for which it does not. */
  const markBefore = async (holds: UpTo, head: Head) => {
    let [low, high] = [START, { number: Math.floor(head.index / MARK_EVERY) + 1, position: head.position }]
    for (;;) {
      const from = low === START ? -1 : low.index / MARK_EVERY
      if (high.number - from <= 1) return { low, end: high.position }
      const marks = await marksAt(between(from, high.number))
      if (marks.length === 0) return { low, end: high.position }
      for (const mark of marks) {
        const number = mark.index / MARK_EVERY
        if (holds(mark)) low = mark.index > low.index ? mark : low
        else if (number < high.number) high = { number, position: mark.position }
      }
    }
  }

  return async (holds: UpTo, head: Head): Promise<LogPosition> => {
    const { low, end } = await markBefore(holds, head)
    let place = low
    for await (const part of sliced(log.readAll(low.position, end)))
      for (const record of part) {
        const next = { index: place.index + 1, position: record.position, time: settled(place.time, record) }
        if (!holds(next)) return place
        place = next
      }
    return place
  }
}

/** Maximum number of characters kept of a block that is read in descending order. */
const KEPT = 8_388_608

/** Bounds of a part of the log: after and before a position or an index. An undefined bound does not limit the part. */
export type RangeBounds = {
  readonly after?: bigint | undefined
  readonly before?: bigint | undefined
  readonly afterIndex?: number | undefined
  readonly beforeIndex?: number | undefined
}

/** The events after `low`, up to and including `high`. Empty if `high` is not after `low`. */
export type LogRange = { readonly low: Head; readonly high: Head }

export type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly find: ReturnType<typeof positionFinder>
  /** Ends the read of a range of the log early. */
  readonly signal: AbortSignal
}

/**
 * Condition of the places in the log that come before a range. Each of these bounds alone excludes events before the
 * range.
 */
const beforeRange = ({ after, afterIndex }: RangeBounds, from: string | undefined): UpTo | undefined => {
  if (after === undefined && afterIndex === undefined && from === undefined) return undefined
  return ({ index, position, time }) =>
    (after !== undefined && position <= after) ||
    (afterIndex !== undefined && index <= afterIndex) ||
    (from !== undefined && time < from)
}

/** Condition of the places in the log up to the end of a range. */
const withinRange = ({ before, beforeIndex }: RangeBounds, to: string | undefined): UpTo | undefined => {
  if (before === undefined && beforeIndex === undefined && to === undefined) return undefined
  return ({ index, position, time }) =>
    (before === undefined || position < before) &&
    (beforeIndex === undefined || index < beforeIndex) &&
    (to === undefined || time < to)
}

/** Finds the part of the log that a range covers. Bounds of time are compared with settled times. */
export const rangeOf = async (
  { find }: Pick<Sources, 'find'>,
  bounds: RangeBounds,
  { from, to }: Pick<EventFilter, 'from' | 'to'>,
  head: Head,
): Promise<LogRange> => {
  const [before, within] = [beforeRange(bounds, from), withinRange(bounds, to)]
  return { low: before ? await find(before, head) : START, high: within ? await find(within, head) : head }
}

/** An event with its index, position and settled time. */
export type Indexed = { readonly place: Head; readonly record: Stored }

const sizeOf = ({ record: { data, meta } }: Indexed): number => data.length + meta.length

/** All events of a range of the log in ascending order, in pages of the log. */
export async function* ascending(
  { log, signal }: Omit<Sources, 'find'>,
  { low, high }: LogRange,
): AsyncGenerator<readonly Indexed[]> {
  if (high.index <= low.index) return
  let place = low
  for await (const page of log.readAll(low.position, high.position)) {
    if (signal.aborted) return
    yield page.map((record) => {
      place = { index: place.index + 1, position: record.position }
      return { place, record }
    })
  }
}

/**
 * All events of a range of the log in descending order. The function reads blocks between two marks and keeps at most
 * `KEPT` characters.
 */
export async function* descending(sources: Sources, { low, high }: LogRange): AsyncGenerator<readonly Indexed[]> {
  for (let end = high; end.index > low.index && !sources.signal.aborted; ) {
    const mark = Math.floor((end.index - 1) / MARK_EVERY) * MARK_EVERY
    let start = mark <= low.index ? low : await sources.find(({ index }) => index <= mark, end)
    const block: Indexed[] = []
    let size = 0
    for await (const page of ascending(sources, { low: start, high: end })) {
      block.push(...page)
      for (const one of page) size += sizeOf(one)
      while (size > KEPT && block.length > 1) {
        const oldest = block.shift()!
        size -= sizeOf(oldest)
        start = oldest.place
      }
    }
    yield block.reverse()
    end = start
  }
}
