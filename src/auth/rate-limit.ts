import { isIPv4 } from 'node:net'
import type { Clock } from '../base/clock.ts'

const MINUTE = 60_000
/** Maximum number of clients counted individually per minute. */
const CLIENTS = 100_000
/** Maximum number of networks counted per minute, for each of the two widths. */
const NETWORKS = 20_000
/** Maximum number of keys counted per minute. */
export const MOST_KEYS = CLIENTS + 2 * NETWORKS

/**
 * PORT. Rate limit per client and minute. Synchronous and infallible, so requests never wait for it. If the table of
 * clients is full, a client is counted with its network, then with a wider network (api.md §2.4). All clients together
 * have no common limit.
 */
export type Limiter = {
  /** Returns true if the client has reached the limit of this minute. */
  readonly exhausted: (client: string) => boolean
  readonly count: (client: string) => void
  /** Whole seconds until the counts are reset. */
  readonly retryAfter: () => number
}

const IPV6 = /^((\p{AHex}{1,4}:\p{AHex}{1,4}):\p{AHex}{1,4}):\p{AHex}{1,4}::\/64$/u

/**
 * Returns the two wider networks of a client network: /48 and /32 of an IPv6 /64, /24 and /16 of an IPv4 address. The
 * text up to the last space of the key is kept as a prefix. Returns undefined if the key does not end with a network.
 */
const widerNetworks = (key: string): readonly [string, string] | undefined => {
  const start = key.lastIndexOf(' ') + 1
  const [front, network] = [key.slice(0, start), key.slice(start)]
  const [, narrow, wide] = IPV6.exec(network) ?? []
  if (narrow !== undefined) return [`${front}${narrow}::/48`, `${front}${wide}::/32`]
  if (!isIPv4(network)) return undefined
  const [first, second, third] = network.split('.')
  return [`${front}${first}.${second}.${third}.0/24`, `${front}${first}.${second}.0.0/16`]
}

type Counts = Map<string, number>

/** Deletes the smaller half of the counts. */
const forgetSmallest = (counts: Counts): void => {
  const half = Math.floor(counts.size / 2)
  const median = [...counts.values()].toSorted((one, other) => one - other)[half]!
  for (const [key, count] of counts) if (count <= median && counts.size > half) counts.delete(key)
}

/** Counts of one minute, by client, and by network when the table of clients is full. */
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

/** Limiter of one process. `now` is the time in ms. `onMinute` is called when a new minute begins. */
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
    /** Counts an event and returns the key under which it is counted. */
    count: (client: string): string => {
      current()
      return counts.add(client)
    },
    retryAfter: (): number => Math.max(1, Math.ceil(((current() + 1) * MINUTE - now()) / 1000)),
    /** Number of the current minute. */
    minute: current,
    /** Replaces the count of a key if the key has one. */
    set: counts.set,
  } satisfies Limiter & Readonly<Record<string, unknown>>
}

/** Limiter that counts in one process only. */
export const limiter = (limit: number, clock: Clock): Limiter => limitWindow(limit, clock.monotonic)
