import { type Clock, withTimeout } from '../base/clock.ts'
import { sharedCalls } from '../base/concurrency.ts'
import type { KeptCheckpoint, LedgerStore, ScrubResult } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Age in ms up to which all checkpoints are kept, and up to which the last one of each hour is kept. */
const [ALL_MS, HOURLY_MS] = [DAY_MS, 30 * DAY_MS]
const PAGE = 1_000

/**
 * Sizes of the checkpoints that need not be kept, of checkpoints in descending order. Kept are all of the last 24 h, the
 * last of each hour for 30 days, the last of each day for ever, and the first of each key.
 */
export const superseded = (checkpoints: readonly KeptCheckpoint[], now: number): readonly number[] => {
  let period = ''
  return checkpoints.flatMap(({ size, sealedAt, keep }) => {
    const time = Date.parse(sealedAt)
    if (!(time <= now - ALL_MS)) return []
    const length = time > now - HOURLY_MS ? HOUR_MS : DAY_MS
    const own = `${length} ${Math.floor(time / length)}`
    const isLast = own !== period
    period = own
    return isLast || keep ? [] : [size]
  })
}

/** Removes the checkpoints that need not be kept. */
export const removeSuperseded = async (
  store: Pick<LedgerStore, 'checkpoints' | 'dropCheckpoints'>,
  now: number,
): Promise<void> => {
  let last: readonly KeptCheckpoint[] = []
  for (let below = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.checkpoints(below, PAGE)
    // The last one of the page before shows whether the period of the first one has begun already.
    const drop = superseded([...last, ...page], now).filter((size) => size < below)
    if (drop.length > 0) await store.dropCheckpoints(drop)
    if (page.length < PAGE) return
    last = page.slice(-1)
    below = last[0]!.size
  }
}

/** Interval in ms at which superseded checkpoints are removed. */
const PRUNE_MS = 3_600_000
/** Interval in ms at which the result of the scrubs of all instances is read. */
const SCRUB_LOOK_MS = 60_000

/** Reads the result of the scrubs of all instances, and removes superseded checkpoints, each at its interval. */
export const housekeeping = (
  clock: Pick<Clock, 'monotonic' | 'now'>,
  store: Pick<LedgerStore, 'checkpoints' | 'dropCheckpoints' | 'scrubbed'>,
  noteScrub: (result: ScrubResult | undefined) => void,
) => {
  const dueEvery = (ms: number) => {
    let last = Number.NEGATIVE_INFINITY
    return (): boolean => {
      if (clock.monotonic() - last < ms) return false
      last = clock.monotonic()
      return true
    }
  }
  const [isReadDue, isPruneDue] = [dueEvery(SCRUB_LOOK_MS), dueEvery(PRUNE_MS)]
  return async (): Promise<void> => {
    if (isReadDue()) noteScrub(await store.scrubbed())
    if (isPruneDue()) await removeSuperseded(store, clock.now().getTime())
  }
}

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
