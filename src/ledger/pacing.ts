import { type Clock, withTimeout } from '../base/clock.ts'
import { sharedCalls } from '../base/concurrency.ts'
import type { KeptCheckpoint } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'

/** Minimum time in ms between two checkpoints on request, and interval of attempts without new events. */
const ON_REQUEST_MS = 1_000
const IDLE_MS = 60_000
/** Maximum time in ms for which a request waits for the tree. */
const WAIT_MS = 2_000

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

type Sealer = {
  readonly served: () => KeptCheckpoint | undefined
  readonly pause: () => number
  readonly seal: () => Promise<void>
  /** True if the log was compared with the sealed record since the last difference that a scrub found. */
  readonly isSettled: () => boolean
}

/**
 * Makes a checkpoint of the events at the time of the request, at most one a second. Requests at the same time share it.
 * Returns the number of these events; undefined if the tree is not built within 2 s.
 */
export const onRequest = (
  { clock, tree }: { readonly clock: Clock; readonly tree: Pick<LogTree, 'size'> },
  { served, pause, seal, isSettled }: Sealer,
  advance: () => Promise<void>,
  stop: AbortSignal,
  progress: () => { readonly hasBegun: boolean; readonly isBuilding: boolean },
) => {
  const shared = sharedCalls<number>()
  const sealed = async (): Promise<number> => {
    await advance()
    const size = tree.size()
    // Another instance may have found a difference since the last attempt.
    if (isSettled() && size === served()?.size && pause() > 0) return size
    if (pause() > 0) await clock.sleep(pause(), stop)
    if (!stop.aborted) await seal()
    return size
  }
  return async (): Promise<number | undefined> => {
    const { hasBegun, isBuilding } = progress()
    if (hasBegun && isBuilding) await withTimeout(clock, WAIT_MS, advance(), () => undefined)
    return progress().isBuilding ? undefined : shared('seal', sealed)
  }
}
