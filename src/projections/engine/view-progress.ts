import type { Clock } from '../../clock.ts'
import type { View, Views } from '../views.ts'
import { positionWaiters } from './position-waiters.ts'

/** How often the checkpoint that another instance moves is looked at by who waits for it. */
const LOOK_MS = 50

/** How far the views are, here or by another instance that sees to them, and those who wait for them to be further. */
export const viewProgress = (clock: Clock, views: Pick<Views, 'checkpoint'>, writes: () => boolean) => {
  const here = positionWaiters(clock)
  let waiting = 0
  let resting = new AbortController()
  const wake = () => resting.abort()

  return {
    /** Rows were seen to here up to the position; a start anew from the checkpoint takes nothing of it back. */
    stand: (position: bigint): void => {
      if (position > here.reached()) here.advance(position)
    },
    /** Waits so many milliseconds, as long as nobody waits for the views, and not once the signal aborts. */
    rest: async (ms: number, signal: AbortSignal): Promise<void> => {
      if (waiting > 0 || signal.aborted) return
      if (resting.signal.aborted) resting = new AbortController()
      signal.addEventListener('abort', wake)
      await clock.sleep(ms, resting.signal)
      signal.removeEventListener('abort', wake)
    },
    /** Resolves to true once the view holds every event up to the position, to false when that takes longer than the milliseconds given. */
    reached: async (view: View, position: bigint, withinMs: number): Promise<boolean> => {
      const end = clock.monotonic() + withinMs
      waiting++
      wake()
      try {
        for (;;) {
          // Who was stopped while it waited looks once more: what came meanwhile has not been heard yet.
          const isLate = clock.monotonic() >= end
          if (await here.waitFor(position, LOOK_MS)) return true
          if (!writes() && ((await views.checkpoint(view))?.position ?? -1n) >= position) return true
          if (isLate) return false
        }
      } finally {
        waiting--
      }
    },
  }
}
