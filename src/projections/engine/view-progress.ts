import type { Clock } from '../../base/clock.ts'
import type { View, Views } from '../views.ts'
import { positionWaiters } from './position-waiters.ts'

/** Interval in ms at which a checkpoint that another instance moves is read. */
const LOOK_MS = 50

/** Progress of the views, written by this instance or by another, and the callers that wait for it. */
export const viewProgress = (clock: Clock, views: Pick<Views, 'checkpoint'>, writes: () => boolean) => {
  const here = positionWaiters(clock)

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
        if (!writes() && ((await views.checkpoint(view))?.position ?? -1n) >= position) return true
        if (isLate) return false
      }
    },
  }
}
