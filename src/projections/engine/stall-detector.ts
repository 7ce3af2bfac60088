import type { Clock } from '../../clock.ts'

/** So long a turn may go without a step before it counts as stuck; with what a lease takes to hear of it, less than 5 s. */
const STUCK_MS = 2_500

/**
 * Whether the instance that sees to the views gets on with it. A step that was done before, and is done again after a
 * fault, is no step.
 */
export const stallDetector = ({ monotonic }: Clock) => {
  let busy = false
  let [steps, most] = [0, 0]
  let since = monotonic()
  return {
    /** There is work, or there still is. */
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
    /** A stretch of the work is done for good, or nothing more is to be done here. */
    done: (more: boolean): void => {
      busy = more
      steps = most = 0
      since = monotonic()
    },
    advancing: (): boolean => !busy || monotonic() - since < STUCK_MS,
  }
}
