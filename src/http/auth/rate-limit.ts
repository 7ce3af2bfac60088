const MINUTE = 60_000
/** Clients counted singly in one minute. */
const CLIENTS = 100_000

/** Counts events a client and minute. Out of room, further clients share one count: bounded memory never means unlimited tries. */
export const limiter = (limit: number, now: () => number = () => performance.now()) => {
  let minute = Math.floor(now() / MINUTE)
  const counts = new Map<string, number>()
  const current = () => {
    const present = Math.floor(now() / MINUTE)
    if (present === minute) return
    minute = present
    counts.clear()
  }
  const keyOf = (client: string) => (counts.has(client) || counts.size < CLIENTS ? client : '')
  return {
    /** True once the client has used up this minute's events. */
    exhausted: (client: string): boolean => {
      current()
      return (counts.get(keyOf(client)) ?? 0) >= limit
    },
    count: (client: string): void => {
      current()
      const key = keyOf(client)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    },
    /** Whole seconds until the counts start anew. */
    retryAfter: (): number => Math.max(1, Math.ceil(((minute + 1) * MINUTE - now()) / 1000)),
  }
}

export type Limiter = ReturnType<typeof limiter>
