import type { Clock } from '../../base/clock.ts'
import type { Stored } from '../../events/log.ts'

/** Maximum number of events and characters kept for a reader that is behind. A reader further behind reads the log. */
const EVENTS = 5_000
const CHARACTERS = 16 * 1_048_576
/** Maximum number of events in one page. */
const PAGE = 1_000

/**
 * The newest events received from the log without a gap, for a second reader that is slightly behind. `wanted`: whether
 * such a reader exists now.
 */
export const recentEvents = (clock: Clock, wanted: () => boolean) => {
  let kept: Stored[] = []
  let characters = 0
  let [start, end] = [0n, 0n]
  const sleepers = new Set<() => void>()

  const forget = (position: bigint) => {
    const left = kept.findIndex((event) => event.position > position)
    const gone = left < 0 ? kept.splice(0) : kept.splice(0, left)
    for (const { data, meta } of gone) characters -= data.length + meta.length
    if (position > start) start = position
  }

  return {
    /** Starts at a position: all later events come after it. */
    begin: (position: bigint): void => {
      kept = []
      characters = 0
      start = end = position
    },
    add: (page: readonly Stored[]): void => {
      for (const event of page) {
        kept.push(event)
        characters += event.data.length + event.meta.length
      }
      end = page.at(-1)!.position
      if (!wanted() || kept.length > EVENTS || characters > CHARACTERS) forget(end)
      for (const wake of sleepers) wake()
    },
    /** Position of the newest event. */
    end: (): bigint => end,
    /** Position after which every event so far is kept. */
    start: (): bigint => start,
    /** The next events after a position (not before `start`), up to `to`. */
    after: (position: bigint, to: bigint): readonly Stored[] => {
      forget(position)
      const page = kept.slice(0, PAGE)
      return page.slice(0, page.findLastIndex((event) => event.position <= to) + 1)
    },
    /** Resolves with the position of the newest event once it is beyond `position`, after `withinMs` milliseconds, or when the signal aborts. */
    beyond: (position: bigint, signal: AbortSignal, withinMs?: number): Promise<bigint> =>
      new Promise((resolve) => {
        const wake = () => {
          timer?.cancel()
          sleepers.delete(look)
          signal.removeEventListener('abort', look)
          resolve(end)
        }
        const look = () => {
          if (end > position || signal.aborted) wake()
        }
        const timer = withinMs === undefined ? undefined : clock.after(withinMs, wake)
        sleepers.add(look)
        signal.addEventListener('abort', look)
        look()
      }),
  }
}

export type RecentEvents = ReturnType<typeof recentEvents>
