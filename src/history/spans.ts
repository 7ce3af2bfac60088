import type { EventLog, Stored } from '../events/log.ts'
import { MARK_EVERY } from '../projections/history/log-marks.ts'
import type { EventFilter } from './filter.ts'
import { type FindPlace, type LogPlace, START, type UpTo } from './places.ts'

/** Maximum number of characters kept of a block that is read in descending order. */
const KEPT = 8_388_608

/** Part of the log: after and before a position or an index. An undefined bound does not limit the part. */
export type EventRange = {
  readonly after?: bigint | undefined
  readonly before?: bigint | undefined
  readonly afterIndex?: number | undefined
  readonly beforeIndex?: number | undefined
}

export type Head = Pick<LogPlace, 'index' | 'position'>

/** The events after `low`, up to and including `high`. Empty if `high` is not after `low`. */
export type Span = { readonly low: Head; readonly high: Head }

export type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly find: FindPlace
  /** Ends the read of a range of the log early. */
  readonly signal: AbortSignal
}

/** The last place in the log that meets both conditions. A missing condition holds for every place. */
const bothOf = (conditions: readonly (UpTo | undefined)[]): UpTo | undefined => {
  const given = conditions.filter((one) => one !== undefined)
  return given.length === 0 ? undefined : (place) => given.every((holds) => holds(place))
}

/**
 * Condition of the places in the log that come before a range. Each of these bounds alone excludes events before the
 * range.
 */
const beforeRange = ({ after, afterIndex }: EventRange, from: string | undefined): UpTo | undefined => {
  if (after === undefined && afterIndex === undefined && from === undefined) return undefined
  return ({ index, position, time }) =>
    (after !== undefined && position <= after) ||
    (afterIndex !== undefined && index <= afterIndex) ||
    (from !== undefined && time < from)
}

/** Condition of the places in the log up to the end of a range. */
const withinRange = ({ before, beforeIndex }: EventRange, to: string | undefined): UpTo | undefined =>
  bothOf([
    before === undefined ? undefined : ({ position }) => position < before,
    beforeIndex === undefined ? undefined : ({ index }) => index < beforeIndex,
    to === undefined ? undefined : ({ time }) => time < to,
  ])

/** Finds the part of the log that a range covers. Bounds of time are compared with settled times. */
export const spanOf = async (
  { find }: Pick<Sources, 'find'>,
  range: EventRange,
  { from, to }: Pick<EventFilter, 'from' | 'to'>,
  head: Head,
): Promise<Span> => {
  const [before, within] = [beforeRange(range, from), withinRange(range, to)]
  return { low: before ? await find(before, head) : START, high: within ? await find(within, head) : head }
}

/** An event with its index, position and settled time. */
export type Indexed = { readonly place: Head; readonly record: Stored }

const sizeOf = ({ record: { data, meta } }: Indexed): number => data.length + meta.length

/** All events of a range of the log in ascending order, in pages of the log. */
export async function* ascending(
  { log, signal }: Omit<Sources, 'find'>,
  { low, high }: Span,
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
export async function* descending(sources: Sources, { low, high }: Span): AsyncGenerator<readonly Indexed[]> {
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
