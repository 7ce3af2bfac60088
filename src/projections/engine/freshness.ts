import { type Clock, within } from '../../clock.ts'
import { sharedCalls } from '../../concurrency.ts'
import type { EventLog } from '../../events/log.ts'

export type FreshnessOptions = {
  readonly clock: Clock
  readonly head: EventLog['head']
  /** Resolves to true once memory here holds every event up to the position, to false when that takes longer than the milliseconds given. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
}

/** How long a proof is good for, and how often one is sought, from question to question. */
const LEASE_MS = 2_000
const EVERY_MS = 500
/** The part of the interval that passes in any case between a proof and the next one sought. */
const LEAST_PAUSE = 5

/**
 * The freshness lease (guides/operations.md): an instance is fresh while it has proven, within the lease, that it saw
 * the head of the log. So a revocation acknowledged anywhere is in force here within the lease, as long as the log
 * tells its head truly. A leader that does not know that it was deposed may not, for a moment.
 */
export const freshness = ({ clock, head: ask, seen }: FreshnessOptions) => {
  const shared = sharedCalls<bigint>()
  const head = () => shared('head', ask)
  let proven = Number.NEGATIVE_INFINITY
  const stop = new AbortController()

  const prove = async (): Promise<void> => {
    const asked = clock.monotonic()
    try {
      if (await seen(await head(), LEASE_MS)) proven = Math.max(proven, asked)
    } catch {
      // Without an answer there is no proof: the lease runs out, and callers see that it has.
    }
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      const asked = clock.monotonic()
      await prove()
      // A busy instance whose proofs take long must not wait as if they were quick.
      await clock.sleep(Math.max(EVERY_MS / LEAST_PAUSE, EVERY_MS - (clock.monotonic() - asked)), stop.signal)
    }
  }
  const running = run()

  return {
    /** Seeks a proof now, for no longer than one takes at most. */
    prove,
    /**
     * True once memory here holds all that was in the log at the time of the call. False if that takes longer than the
     * given milliseconds, or cannot be known.
     */
    caughtUp: async (withinMs: number): Promise<boolean> => {
      const known = head().then(
        (position) => seen(position, withinMs),
        () => false,
      )
      return within(clock, withinMs, known, () => false)
    },
    fresh: (): boolean => clock.monotonic() - proven <= LEASE_MS,
    /** Milliseconds since the newest proof was requested. */
    age: (): number => clock.monotonic() - proven,
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}
