import type { Clock } from '../clock.ts'

const MINUTE = 60_000
/** Clients counted singly in one minute. */
const CLIENTS = 100_000

/**
 * PORT. A limit on events per client and minute. Synchronous and without failures, so no request waits for it. When
 * memory is full, further clients share one count: they are still limited.
 */
export type Limiter = {
  /** True once the client has used up this minute's events. */
  readonly exhausted: (client: string) => boolean
  readonly count: (client: string) => void
  /** Whole seconds until the counts start anew. */
  readonly retryAfter: () => number
}

/** A limiter of one process; `now` is in milliseconds, and a callback hears of each minute that begins. */
export const limitWindow = (limit: number, now: () => number, onMinute: () => void = () => undefined) => {
  let minute = Math.floor(now() / MINUTE)
  const counts = new Map<string, number>()
  const current = (): number => {
    const present = Math.floor(now() / MINUTE)
    if (present !== minute) {
      minute = present
      counts.clear()
      onMinute()
    }
    return minute
  }
  const keyOf = (client: string) => (counts.has(client) || counts.size < CLIENTS ? client : '')
  return {
    exhausted: (client: string): boolean => {
      current()
      return (counts.get(keyOf(client)) ?? 0) >= limit
    },
    /** Counts an event, and says what it is counted under. */
    count: (client: string): string => {
      current()
      const key = keyOf(client)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return key
    },
    retryAfter: (): number => Math.max(1, Math.ceil(((current() + 1) * MINUTE - now()) / 1000)),
    /** The number of the present minute. */
    minute: current,
    /** Replaces the count of a key. */
    set: (key: string, count: number): void => void counts.set(key, count),
  } satisfies Limiter & Readonly<Record<string, unknown>>
}

/** A limit that one process counts for itself. */
export const limiter = (limit: number, clock: Clock): Limiter => limitWindow(limit, clock.monotonic)
