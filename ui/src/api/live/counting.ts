import type { HistoryEvents } from '../../../../src/contract/history/events.ts'
import { serviceNow } from '../clock.ts'
import { isFailure } from '../failure.ts'
import { query, request } from '../request.ts'
import { type EventFilters, type EventRange, hasEnd, nameOf } from './feed.ts'
import type { Report } from './leader.ts'

/** Time (ms) between the starts of two runs. */
const APART_MS = 2_000

/**
 * Runs a task on request, one run at a time and one in 2 s. Requests during a run or within 2 s cause one more run
 * afterwards.
 */
const spaced = (task: (signal: AbortSignal) => Promise<void>) => {
  let running: AbortController | undefined
  let timer: number | undefined
  let isWanted = false
  const begin = async (): Promise<void> => {
    const mine = new AbortController()
    running = mine
    isWanted = false
    try {
      await task(mine.signal)
    } finally {
      if (running === mine) running = undefined
    }
    if (isWanted) ask()
  }
  const ask = (): void => {
    isWanted = true
    if (running || timer !== undefined) return
    timer = window.setTimeout(() => {
      timer = undefined
      if (isWanted) ask()
    }, APART_MS)
    void begin()
  }
  return {
    ask,
    isRunning: (): boolean => running !== undefined,
    /** Ends the run, and drops the requests for others. */
    stop: (): void => {
      running?.abort()
      running = undefined
      window.clearTimeout(timer)
      timer = undefined
      isWanted = false
    },
  }
}

/** Newest event of the log when a page was read. */
export type Head = NonNullable<HistoryEvents['head']>

/** Number of the events that a page does not show yet. `isExact` is false if there are more. */
export type NewEvents = { readonly count: number; readonly isExact: boolean }

type Found = Extract<Report, { readonly kind: 'events' }>

/** Number of reports that are kept while such a request runs. */
const KEPT = 100

/** Whether a bound of a range is beyond a place of the log. */
const isBeyond = (bound: string | undefined, place: string | number): boolean =>
  bound !== undefined && /^\d+$/.test(bound) && BigInt(bound) > BigInt(place)

/** Whether each future event that passes the filters is in the range. */
const isOpenEnded = (range: EventRange, { index, position }: Head): boolean =>
  !hasEnd(range) &&
  !(range.from !== undefined && Date.parse(range.from) > serviceNow()) &&
  !isBeyond(range.after, position) &&
  !isBeyond(range.afterIndex, index)

/** The part of a range after a place of the log. */
const rangeAfter = ({ after, afterIndex, ...rest }: EventRange, { index, position }: Head): EventRange =>
  afterIndex === undefined
    ? { ...rest, after: isBeyond(after, position) ? after : position }
    : { ...rest, afterIndex: isBeyond(afterIndex, index) ? afterIndex : String(index) }

/** Reads the number of the events after a position, and the newest event of the log. */
const readCount = async (filters: EventFilters, range: EventRange, head: Head, signal: AbortSignal) => {
  const path = `audit/v1/events${query({ ...filters, ...rangeAfter(range, head), limit: 1, count: 'true' })}`
  const { value } = await request<HistoryEvents>(path, { signal })
  return { count: value.count?.value ?? 0, isExact: value.count?.exact ?? true, newest: value.head?.index ?? -1 }
}

/**
 * Counts the events after the head of a page. It counts those of the page's own feed itself; for another feed, and after
 * a gap, it reads the number from the service.
 */
export const countingNew = (
  filters: EventFilters,
  range: EventRange,
  head: Head,
  onChange: (now: NewEvents | 'other-log') => void,
) => {
  const own = nameOf(filters)
  let mark = head
  /** Index up to which events are counted, and the greatest index of which there was a report. */
  let [through, latest] = [head.index, head.index]
  let now: NewEvents = { count: 0, isExact: true }
  let kept: Found[] = []

  const become = (next: NewEvents, index: number): void => {
    now = next
    through = index
    onChange(now)
  }
  const reading = spaced(async (signal) => {
    try {
      const { newest, ...next } = await readCount(filters, range, mark, signal)
      if (signal.aborted) return
      if (newest < mark.index) return onChange('other-log')
      become(next, newest)
    } catch (error) {
      // The next report, or the timer of the page, asks again.
      if (!isFailure(error) && !signal.aborted) throw error
    }
    const missed = kept
    kept = []
    for (const report of missed) add(report)
  })
  const add = ({ after, index, found }: Found): void => {
    if (index <= through) return
    if (after > through) return reading.ask()
    become({ ...now, count: now.count + found.filter((one) => one > through).length }, index)
  }
  const stop = (): void => {
    reading.stop()
    kept = []
  }
  return {
    ask: reading.ask,
    stop,
    through: () => through,
    /** Counts from the head of a page that was read again. */
    mark: (next: Head): void => {
      stop()
      mark = next
      become({ count: 0, isExact: true }, next.index)
      if (latest > through) reading.ask()
    },
    /** The log of the feed is examined up to this index. */
    examined: (index: number): void => {
      latest = Math.max(latest, index)
      if (index > through) reading.ask()
    },
    found: (report: Found): void => {
      latest = Math.max(latest, report.index)
      if (report.feed !== own || !isOpenEnded(range, mark)) {
        if (report.found.length > 0) reading.ask()
      } else if (!reading.isRunning()) add(report)
      else if (kept.length < KEPT) kept.push(report)
    },
  }
}
