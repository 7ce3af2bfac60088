import { createHmac } from 'node:crypto'
import { connectRedis } from './connection.ts'

const MINUTE = 60_000
const FLUSH_MS = 250
/** Clients counted singly in one minute, and at most so many told to Redis at a time. */
const CLIENTS = 100_000
const TOLD = 5_000

export type RedisLimitsOptions = {
  readonly onError: (error: unknown) => void
  /** The key that instances share: Redis is told of clients under it, for an address is personal. */
  readonly key: Uint8Array
  readonly prefix?: string
  readonly flushMs?: number
}

/** Limits on events a client and minute, as those of one process are, but counted over all instances. */
export type SharedLimiter = {
  /** True once the client has used up this minute's events. */
  readonly exhausted: (client: string) => boolean
  readonly count: (client: string) => void
  /** Whole seconds until the counts start anew. */
  readonly retryAfter: () => number
}

/**
 * Counters that instances share. An event counts here at once and elsewhere about half a second later; no request waits for Redis, and
 * without it each instance counts for itself. Minutes are those of the clock, so that instances mean the same.
 */
export const openRedisLimits = (
  url: string,
  { onError, key: secret, prefix = 'rollcall', flushMs = FLUSH_MS }: RedisLimitsOptions,
) => {
  const client = connectRedis(url, false, onError)
  const pseudonym = (of: string) => createHmac('sha256', secret).update(`limit ${of}`).digest('base64url')
  const flushes: (() => Promise<void>)[] = []
  let flushing: Promise<unknown> | undefined
  const timer = setInterval(() => {
    flushing ??= Promise.all(flushes.map((flush) => flush()))
      .catch(onError)
      .finally(() => (flushing = undefined))
  }, flushMs).unref()

  const limiter = (name: string, limit: number, now: () => number = Date.now): SharedLimiter => {
    let minute = Math.floor(now() / MINUTE)
    /** All that is known of a client: what Redis said last, and what has been counted here since. */
    const counts = new Map<string, number>()
    /** Counted here and not yet told to Redis. */
    let unsent = new Map<string, number>()

    const current = () => {
      const present = Math.floor(now() / MINUTE)
      if (present === minute) return
      minute = present
      counts.clear()
      unsent.clear()
    }
    const keyOf = (of: string) => (counts.has(of) || counts.size < CLIENTS ? of : '')
    const add = (map: Map<string, number>, key: string, by: number) => map.set(key, (map.get(key) ?? 0) + by)

    flushes.push(async () => {
      current()
      if (unsent.size === 0 || client.status !== 'ready') return
      const [telling, of] = [[...unsent].slice(0, TOLD), minute]
      for (const [key] of telling) unsent.delete(key)
      const hash = `${prefix}:limit:${name}:${of}`
      const pipeline = client.pipeline()
      for (const [key, by] of telling) pipeline.hincrby(hash, pseudonym(key), by)
      pipeline.expire(hash, 120)
      const replies = await pipeline.exec().catch(() => undefined)
      if (of !== minute) return
      for (const [n, [key, by]] of telling.entries()) {
        const [error, total] = replies?.[n] ?? [new Error('no answer'), undefined]
        // Whether an unanswered count arrived nobody knows; counted twice it only makes the limit stricter for that client.
        if (error || typeof total !== 'number') add(unsent, key, by)
        else counts.set(key, total + (unsent.get(key) ?? 0))
      }
    })

    return {
      exhausted: (of) => {
        current()
        return (counts.get(keyOf(of)) ?? 0) >= limit
      },
      count: (of) => {
        current()
        const key = keyOf(of)
        add(counts, key, 1)
        add(unsent, key, 1)
      },
      retryAfter: () => Math.max(1, Math.ceil(((minute + 1) * MINUTE - now()) / 1000)),
    }
  }

  return {
    limiter,
    /** True while Redis answers. */
    ready: (): boolean => client.status === 'ready',
    close: async (): Promise<void> => {
      clearInterval(timer)
      client.disconnect()
      await flushing
    },
  }
}
