import { timeSlicer } from '../base/event-loop.ts'
import type { EventLog } from '../events/log.ts'
import { MARK_EVERY, type Mark, markKey, markSeals, markView, settled } from '../projections/history/log-marks.ts'
import type { Sealed } from '../projections/history/log-projection.ts'
import type { Views } from '../projections/views.ts'

/**
 * Place of an event in the log: its index, its position, and its settled time (the greatest time of all events up to
 * it).
 */
export type LogPlace = { readonly index: number; readonly position: bigint; readonly time: string }

/** Place before the first event of the log. */
export const START: LogPlace = { index: -1, position: 0n, time: '' }

/** A condition on places in the log that holds up to one of them, and for none after it. */
export type UpTo = (place: LogPlace) => boolean

/** Number of marks that one step of the search reads. */
const FANOUT = 16

type Sources = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly views: Pick<Views, 'getMany'>
  readonly key: Uint8Array
}

const placeOf = ({ index, at, time }: Mark): LogPlace => ({ index, position: BigInt(at), time })

/** Indexes of marks that divide the marks between two others into parts of about the same size. */
const between = (low: number, high: number): readonly number[] => {
  const parts = Math.min(FANOUT, high - low - 1)
  return Array.from({ length: parts }, (_, n) => low + Math.ceil(((n + 1) * (high - low - 1)) / parts))
}

/**
 * Finds the last place in the log for which a condition holds. The search uses the marks and then reads at most the
 * events between two of them. Missing marks only make the search slower.
 */
export const placeFinder = ({ log, views, key }: Sources) => {
  const seals = markSeals(key)
  const marksAt = async (numbers: readonly number[]): Promise<readonly LogPlace[]> => {
    const keys = numbers.map((number) => markKey(number * MARK_EVERY))
    const rows = await views.getMany<Sealed<Mark>>(markView, keys)
    return rows.flatMap(({ doc }) => (doc && seals.holds(doc) ? [placeOf(doc)] : []))
  }

  /** The last mark for which the condition holds, and the position of the first known one for which it does not. */
  const markBefore = async (holds: UpTo, head: Pick<LogPlace, 'index' | 'position'>) => {
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

  return async (holds: UpTo, head: Pick<LogPlace, 'index' | 'position'>): Promise<LogPlace> => {
    const { low, end } = await markBefore(holds, head)
    let place = low
    const pause = timeSlicer()
    for await (const page of log.readAll(low.position, end))
      for (const record of page) {
        const next = { index: place.index + 1, position: record.position, time: settled(place.time, record) }
        if (!holds(next)) return place
        place = next
        const paused = pause()
        if (paused) await paused
      }
    return place
  }
}
export type FindPlace = ReturnType<typeof placeFinder>
