import { type Clock, type Timer, withTimeout } from '../../clock.ts'
import { sharedCalls } from '../../concurrency.ts'
import { whyOf } from '../../errors.ts'
import type { EventLog } from '../../events/log.ts'

/** A time without proof. `forMs`: since the newest one was asked for; `head`: the newest position that the log told. */
type Spell = { readonly forMs: number; readonly why: string; readonly head: bigint | undefined }

export type FreshnessOptions = {
  readonly clock: Clock
  readonly head: EventLog['head']
  /** Resolves to true once memory here holds every event up to the position, to false when that takes longer than the milliseconds given. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Told once of each spell in which the lease has run out, when it has. A start that has no proof yet is none. */
  readonly onStale?: (spell: Spell) => void
  /** Told when such a spell is over, after so many milliseconds without proof. */
  readonly onFresh?: (afterMs: number) => void
}

/** How long a proof is good for, and how often one is sought, from question to question. */
const LEASE_MS = 2_000
const EVERY_MS = 500
/** The part of the interval that passes in any case between a proof and the next one sought. */
const LEAST_PAUSE = 5
const UNANSWERED = 'the log does not tell its head: no answer yet'

/**
 * The freshness lease (guides/operations.md): an instance is fresh while it has proven, within the lease, that it saw
 * the head of the log. So a revocation acknowledged anywhere is in force here within the lease, as long as the log
 * tells its head truly. A leader that does not know that it was deposed may not, for a moment.
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
    // A timer may come a moment early.
    if (fresh()) return watchOn()
    stale = true
    onStale?.({ forMs: age(), why, head: newest })
  }
  /** Looks when the lease of now has run out, whatever the log is about to answer. */
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
      why = 'memory has not reached the head of the log'
      if (await seen(newest, LEASE_MS)) learn(asked)
    } catch (error) {
      // Without an answer there is no proof: the lease runs out, and callers see that it has.
      why = `the log does not tell its head: ${whyOf(error)}`
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
      return withTimeout(clock, withinMs, known, () => false)
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
