import type { Clock } from '../clock.ts'

/** Minimum time in ms between two checkpoints on request, and interval of attempts without new events. */
const ON_REQUEST_MS = 1_000
const IDLE_MS = 60_000

type Pace = {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Maximum age in ms of an event without a checkpoint. */
  readonly interval: number
  /** Number of events without a checkpoint at which one is due. */
  readonly events: number
}

/** Decides when a checkpoint is due. */
export const pacing = ({ clock, interval, events }: Pace) => {
  /** Times on the monotonic clock: of the last attempt, and of the first event without a checkpoint. */
  let [tried, waiting] = [Number.NEGATIVE_INFINITY, undefined as number | undefined]
  return {
    /** Notes an attempt that began at `began`. `isWhole`: it left no event of that time without a checkpoint. */
    attempted: (began: number, isWhole: boolean): void => {
      tried = clock.monotonic()
      if (isWhole && waiting !== undefined) waiting = began
    },
    /** `unsealed`: number of events without a checkpoint. */
    isDue: (unsealed: number, isBlocked: boolean): boolean => {
      waiting = unsealed > 0 ? (waiting ?? clock.monotonic()) : undefined
      // An attempt finds the obstacle, or its end, of another instance.
      if (isBlocked || waiting === undefined) return clock.monotonic() - tried >= IDLE_MS
      return unsealed >= events || clock.monotonic() - waiting >= interval
    },
    /** Time in ms until a further checkpoint may be made on request. */
    pause: (): number => Math.max(0, tried + ON_REQUEST_MS - clock.monotonic()),
  }
}
