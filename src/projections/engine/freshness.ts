import { type Clock, type Timer, withTimeout } from '../../base/clock.ts'
import { sharedCalls } from '../../base/concurrency.ts'
import { whyOf } from '../../base/errors.ts'
import type { EventLog } from '../../events/log.ts'

/**
 * A period in which the instance cannot prove that it has the newest events. `forMs`: time since the last proof was
 * requested; `head`: the newest head that the log returned.
 */
type Spell = { readonly forMs: number; readonly why: string; readonly head: bigint | undefined }

type FreshnessOptions = {
  readonly clock: Clock
  readonly head: EventLog['head']
  /** Resolves to true once memory holds every event up to the position, to false after `withinMs` milliseconds. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Called once for each period without a lease, when it begins. The time before the first proof does not count. */
  readonly onStale?: (spell: Spell) => void
  /** Called when such a period ends, with its length in ms. */
  readonly onFresh?: (afterMs: number) => void
}

/** Lifetime of a proof, and interval between two requests for one, in ms. */
const LEASE_MS = 2_000
const EVERY_MS = 500
/** Minimum fraction of the interval between a proof and the next request. */
const LEAST_PAUSE = 5
const UNANSWERED = 'the event log does not return its newest position: no answer yet'

/**
 * The freshness lease (guides/operations.md): an instance is fresh while it has proven, within the lease, that it saw
 * the end of the log. Therefore a revocation that any instance acknowledged takes effect here within the lease, as long
 * as the log returns its true head. A deposed leader may return an older one for a moment.
 */
export const freshness = ({ clock, head: ask, seen, onStale, onFresh }: FreshnessOptions) => {
  const shared = sharedCalls<bigint>()
  const head = () => shared('head', ask)
  let proven = Number.NEGATIVE_INFINITY
  const stop = new AbortController()
  const age = (): number => clock.monotonic() - proven
  const fresh = (): boolean => age() <= LEASE_MS

  let why = UNANSWERED
  let newest: bigint | undefined
  let stale = false
  let watch: Timer | undefined
  const look = (): void => {
    // A timer may fire slightly too early.
    if (fresh()) return watchOn()
    stale = true
    onStale?.({ forMs: age(), why, head: newest })
  }
  /** Checks at the end of the current lease, whether or not the log has answered. */
  const watchOn = (): void => {
    watch?.cancel()
    if (!stop.signal.aborted) watch = clock.after(Math.max(0, LEASE_MS - age()) + 1, look)
  }

  const learn = (asked: number): void => {
    const without = age()
    proven = Math.max(proven, asked)
    why = UNANSWERED
    if (!fresh()) return
    if (stale) onFresh?.(without)
    stale = false
    watchOn()
  }
  const prove = async (): Promise<void> => {
    const asked = clock.monotonic()
    try {
      newest = await head()
      why = 'memory does not have the newest event of the log'
      if (await seen(newest, LEASE_MS)) learn(asked)
    } catch (error) {
      // If the log does not answer, the proof expires, and callers refuse requests.
      why = `the event log does not return its newest position: ${whyOf(error)}`
    }
  }
  const run = async () => {
    while (!stop.signal.aborted) {
      const asked = clock.monotonic()
      await prove()
      // If a proof takes long, the wait until the next one is shorter.
      await clock.sleep(Math.max(EVERY_MS / LEAST_PAUSE, EVERY_MS - (clock.monotonic() - asked)), stop.signal)
    }
  }
  const running = run()

  return {
    /** Requests a proof now, within the time limit of one request. */
    prove,
    /**
     * Position of the newest event, from a read that starts after the call. Undefined if the log does not return it
     * within the given milliseconds, and at once while the instance is not fresh.
     */
    newest: async (withinMs: number): Promise<bigint | undefined> => {
      const none = () => undefined
      return fresh() ? withTimeout(clock, withinMs, head().catch(none), none) : undefined
    },
    fresh,
    /** Milliseconds since the newest proof was requested. */
    age,
    close: async (): Promise<void> => {
      stop.abort()
      watch?.cancel()
      await running
      watch?.cancel()
    },
  }
}
