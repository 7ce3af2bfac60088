import type { Clock } from '../clock.ts'
import { widerNetworks } from './wider-networks.ts'

const MINUTE = 60_000
/** Clients counted singly in one minute. */
const CLIENTS = 100_000
/** Networks counted in one minute, of each of two widths. */
const NETWORKS = 20_000
/** Keys that a limiter counts in one minute, all together. */
export const MOST_KEYS = CLIENTS + 2 * NETWORKS

/**
 * PORT. A limit on events per client and minute. Synchronous and without failures, so no request waits for it. When
 * there is no room for a client, it counts with its network, and then with a wider one (api.md §2.4). No count is common
 * to all.
 */
export type Limiter = {
  /** True once the client has used up this minute's events. */
  readonly exhausted: (client: string) => boolean
  readonly count: (client: string) => void
  /** Whole seconds until the counts start anew. */
  readonly retryAfter: () => number
}

type Counts = Map<string, number>

/** Forgets the smaller half of the counts. */
const forgetSmallest = (counts: Counts): void => {
  const half = Math.floor(counts.size / 2)
  const median = [...counts.values()].toSorted((one, other) => one - other)[half]!
  for (const [key, count] of counts) if (count <= median && counts.size > half) counts.delete(key)
}

/** Counts of one minute: of clients, and of networks where there is no room for a client. */
const countsByKey = () => {
  const [clients, networks, widest]: readonly [Counts, Counts, Counts] = [new Map(), new Map(), new Map()]
  const all = [clients, networks, widest]
  const placeOf = (client: string): readonly [Counts, string] => {
    if (clients.has(client) || clients.size < CLIENTS) return [clients, client]
    const [narrow, wide] = widerNetworks(client) ?? [client, client]
    return networks.has(narrow) || networks.size < NETWORKS ? [networks, narrow] : [widest, wide]
  }
  return {
    of: (client: string): number => {
      const [counts, key] = placeOf(client)
      return counts.get(key) ?? 0
    },
    add: (client: string): string => {
      const [counts, key] = placeOf(client)
      if (counts === widest && !widest.has(key) && widest.size >= NETWORKS) forgetSmallest(widest)
      counts.set(key, (counts.get(key) ?? 0) + 1)
      return key
    },
    set: (key: string, count: number): void => void all.find((counts) => counts.has(key))?.set(key, count),
    clear: (): void => all.forEach((counts) => counts.clear()),
  }
}

/** A limiter of one process; `now` is in milliseconds, and a callback hears of each minute that begins. */
export const limitWindow = (limit: number, now: () => number, onMinute: () => void = () => undefined) => {
  let minute = Math.floor(now() / MINUTE)
  const counts = countsByKey()
  const current = (): number => {
    const present = Math.floor(now() / MINUTE)
    if (present !== minute) {
      minute = present
      counts.clear()
      onMinute()
    }
    return minute
  }
  return {
    exhausted: (client: string): boolean => {
      current()
      return counts.of(client) >= limit
    },
    /** Counts an event, and says what it is counted under. */
    count: (client: string): string => {
      current()
      return counts.add(client)
    },
    retryAfter: (): number => Math.max(1, Math.ceil(((current() + 1) * MINUTE - now()) / 1000)),
    /** The number of the present minute. */
    minute: current,
    /** Replaces the count of a key, where it is still counted. */
    set: counts.set,
  } satisfies Limiter & Readonly<Record<string, unknown>>
}

/** A limit that one process counts for itself. */
export const limiter = (limit: number, clock: Clock): Limiter => limitWindow(limit, clock.monotonic)
