import type { Clock } from '../../base/clock.ts'
import { sharedCalls } from '../../base/concurrency.ts'
import type { Checkpoint, View, Views } from '../views.ts'

/** The position reached so far, and the callers that wait for a later one. */
export const positionWaiters = (clock: Clock) => {
  const waiting = new Set<{ readonly position: bigint; readonly wake: () => void }>()
  let reached = 0n
  return {
    reached: (): bigint => reached,
    advance: (position: bigint): void => {
      reached = position
      for (const one of waiting) {
        if (one.position > position) continue
        waiting.delete(one)
        one.wake()
      }
    },
    /** Resolves to true once the position is reached, to false after `withinMs` milliseconds. */
    waitFor: async (position: bigint, withinMs: number): Promise<boolean> => {
      if (position <= reached) return true
      return new Promise((answer) => {
        const one = {
          position,
          wake: () => {
            timer.cancel()
            answer(true)
          },
        }
        const timer = clock.after(withinMs, () => {
          waiting.delete(one)
          answer(false)
        })
        waiting.add(one)
      })
    },
  }
}

/** Interval in ms at which a checkpoint that another instance moves is read, once for all callers that wait for it. */
const LOOK_MS = 50

/** Progress of the views, written by this instance or by another, and the callers that wait for it. */
export const viewProgress = (clock: Clock, views: Pick<Views, 'checkpoint'>, writes: () => boolean) => {
  const here = positionWaiters(clock)
  const shared = sharedCalls<Checkpoint | undefined>()

  return {
    /**
     * This instance has written all rows up to the position. A restart from an earlier checkpoint does not lower it.
     */
    stand: (position: bigint): void => {
      if (position > here.reached()) here.advance(position)
    },
    /** Resolves to true once the view holds every event up to the position, to false after `withinMs` milliseconds. */
    reached: async (view: View, position: bigint, withinMs: number): Promise<boolean> => {
      const end = clock.monotonic() + withinMs
      for (;;) {
        // If the process was suspended past the deadline, check once more: events that arrived since are not processed yet.
        const isLate = clock.monotonic() >= end
        if (await here.waitFor(position, LOOK_MS)) return true
        if (!writes()) {
          const there = await shared(view.name, () => views.checkpoint(view))
          if (there && there.position >= position) return true
        }
        if (isLate) return false
      }
    },
  }
}
