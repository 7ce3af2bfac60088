import type { Clock } from '../../clock.ts'
import type { Stored } from '../../events/log.ts'

/** Most that is kept for a reader that is behind; one that is further behind reads the log. */
const EVENTS = 5_000
const CHARACTERS = 16 * 1_048_576
/** Most events that are given at once. */
const PAGE = 1_000

/** The newest events that a follower of the log was given, without a gap, for a second reader that comes a little later. `wanted`: whether there is one now. */
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
    /** All that comes from now on lies behind this position. */
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
    /** Position behind which every event so far is kept. */
    start: (): bigint => start,
    /** The next events behind a position that is not before the start, up to another. */
    after: (position: bigint, to: bigint): readonly Stored[] => {
      forget(position)
      const page = kept.slice(0, PAGE)
      return page.slice(0, page.findLastIndex((event) => event.position <= to) + 1)
    },
    /** Resolves with the newest event's position once that lies behind this one, so many milliseconds have passed, or the signal aborts. */
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
