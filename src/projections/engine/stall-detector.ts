import type { Clock } from '../../base/clock.ts'

/** Time in ms without a step after which the writer counts as stalled. With the delay of the lease it stays under 5 s. */
const STUCK_MS = 2_500

/** Detects a stalled writer of the read models. A step that is repeated after a fault does not count. */
export const stallDetector = ({ monotonic }: Clock) => {
  let busy = false
  let [steps, most] = [0, 0]
  let since = monotonic()
  return {
    /** Work begins, or continues. */
    begin: (): void => {
      if (!busy) since = monotonic()
      busy = true
      steps = 0
    },
    step: (): void => {
      if (++steps <= most) return
      most = steps
      since = monotonic()
    },
    /** A step of the work is complete. `more`: whether further work waits. */
    done: (more: boolean): void => {
      busy = more
      steps = most = 0
      since = monotonic()
    },
    advancing: (): boolean => !busy || monotonic() - since < STUCK_MS,
  }
}
