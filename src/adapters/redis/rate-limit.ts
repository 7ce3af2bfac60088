import { createHmac } from 'node:crypto'
import { type Limiter, limitWindow, MOST_KEYS } from '../../auth/rate-limit.ts'
import type { Clock } from '../../clock.ts'
import type { RedisPlace } from './address.ts'
import { type Client, connectRedis, familyOf, type Health, keysOf, PREFIX } from './connection.ts'

const FLUSH_MS = 250
/** Counts sent to Redis in one call. */
const TOLD = 5_000

export type RedisLimitsOptions = {
  /** Minutes are those of its wall clock. */
  readonly clock: Clock
  readonly health: Pick<Health, 'failed'>
  /** The key that instances share: Redis is told of clients under it, for an address is personal. */
  readonly key: Uint8Array
  readonly prefix?: string
  readonly flushMs?: number
}

type Shared = {
  readonly client: Client
  readonly hashOf: (minute: number) => string
  readonly pseudonym: (client: string) => string
  readonly failed: (error: unknown) => void
}

/** One limit of this instance: what it knows of a client is what Redis said last and what has been counted here since. */
const sharedLimiter = ({ client, hashOf, pseudonym, failed }: Shared, limit: number, now: () => number) => {
  /** Counted here and not yet told to Redis. */
  const unsent = new Map<string, number>()
  const addUnsent = (key: string, by: number): void => {
    // The window may have forgotten keys that Redis has not been told of: there are no more of them than of counted ones.
    if (unsent.has(key) || unsent.size < MOST_KEYS) unsent.set(key, (unsent.get(key) ?? 0) + by)
  }
  const { exhausted, retryAfter, ...window } = limitWindow(limit, now, () => unsent.clear())

  const flush = async (): Promise<void> => {
    const minute = window.minute()
    if (unsent.size === 0 || client.status !== 'ready') return
    const telling = [...unsent].slice(0, TOLD)
    for (const [key] of telling) unsent.delete(key)
    const hash = hashOf(minute)
    const pipeline = client.pipeline()
    for (const [key, by] of telling) pipeline.hincrby(hash, pseudonym(key), by)
    pipeline.expire(hash, 120)
    const replies = await pipeline.exec().catch((error: unknown) => failed(error))
    const refused = replies?.find(([error]) => error)
    if (refused) failed(refused[0])
    if (minute !== window.minute()) return
    for (const [n, [key, by]] of telling.entries()) {
      const [error, total] = replies?.[n] ?? [new Error('no answer'), undefined]
      // Whether an unanswered count arrived nobody knows; counted twice it only makes the limit stricter for that client.
      if (error || typeof total !== 'number') addUnsent(key, by)
      else window.set(key, total + (unsent.get(key) ?? 0))
    }
  }
  const limiter: Limiter = { exhausted, retryAfter, count: (of) => addUnsent(window.count(of), 1) }
  return { limiter, flush }
}

/**
 * Counters that instances share. An event counts here at once and elsewhere about half a second later; no request waits for Redis, and
 * without it each instance counts for itself. Minutes are those of the clock, so that instances mean the same.
 */
export const openRedisLimits = (
  place: RedisPlace,
  { clock, health, key: secret, prefix = PREFIX, flushMs = FLUSH_MS }: RedisLimitsOptions,
) => {
  let closed = false
  const failed = (error: unknown) => {
    if (!closed) health.failed(error)
  }
  const client = connectRedis(place, false, { failed })
  const disconnect = familyOf(client)
  const pseudonym = (of: string) => createHmac('sha256', secret).update(`limit ${of}`).digest('base64url')
  const flushes: (() => Promise<void>)[] = []
  let flushing: Promise<unknown> | undefined
  const now = () => clock.now().getTime()
  const timer = clock.every(flushMs, () => {
    flushing ??= Promise.all(flushes.map((flush) => flush()))
      .catch(failed)
      .finally(() => (flushing = undefined))
  })

  return {
    limiter: (name: string, limit: number): Limiter => {
      const hashOf = (minute: number) => `${keysOf(prefix)}:limit:${name}:${minute}`
      const { limiter, flush } = sharedLimiter({ client, hashOf, pseudonym, failed }, limit, now)
      flushes.push(flush)
      return limiter
    },
    /** True while Redis answers. */
    ready: (): boolean => client.status === 'ready',
    close: async (): Promise<void> => {
      closed = true
      timer.cancel()
      disconnect()
      await flushing
    },
  }
}
