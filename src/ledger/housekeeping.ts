import type { Clock } from '../base/clock.ts'
import type { LedgerStore, ScrubResult } from './ledger-store.ts'
import { removeSuperseded } from './retention.ts'

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

/** Runs the work at each call until it has succeeded once. */
export const untilDone = (work: () => Promise<unknown>) => {
  let isDone = false
  return async (): Promise<void> => {
    if (!isDone) await work()
    isDone = true
  }
}
