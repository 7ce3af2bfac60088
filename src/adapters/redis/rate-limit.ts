import { createHmac } from 'node:crypto'
import { type Limiter, limitWindow, MOST_KEYS } from '../../auth/rate-limit.ts'
import type { Clock } from '../../base/clock.ts'
import type { RedisPlace } from './address.ts'
import { type Client, connectRedis, familyOf, type Health, keysOf, PREFIX } from './connection.ts'

const FLUSH_MS = 250
/** Maximum counts sent to Redis in one call. */
const MOST_SENT = 5_000

type RedisLimitsOptions = {
  /** The wall clock of Redis defines the minutes. */
  readonly clock: Clock
  readonly health: Pick<Health, 'failed'>
  /**
   * Key that all instances share. Client addresses are personal data, so Redis receives only pseudonyms computed with
   * it.
   */
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

/**
 * One rate limit of this instance. The count of a client is the last count from Redis plus the local increments since
 * then.
 */
const sharedLimiter = ({ client, hashOf, pseudonym, failed }: Shared, limit: number, now: () => number) => {
  /** Local increments not yet sent to Redis. */
  const unsent = new Map<string, number>()
  const addUnsent = (key: string, by: number): void => {
    // The window may have evicted keys that are not sent yet; their number has the same bound as the window.
    if (unsent.has(key) || unsent.size < MOST_KEYS) unsent.set(key, (unsent.get(key) ?? 0) + by)
  }
  const { exhausted, retryAfter, ...window } = limitWindow(limit, now, () => unsent.clear())

  const flush = async (): Promise<void> => {
    const minute = window.minute()
    if (unsent.size === 0 || client.status !== 'ready') return
    const sending = [...unsent].slice(0, MOST_SENT)
    for (const [key] of sending) unsent.delete(key)
    const hash = hashOf(minute)
    const pipeline = client.pipeline()
    for (const [key, by] of sending) pipeline.hincrby(hash, pseudonym(key), by)
    pipeline.expire(hash, 120)
    const replies = await pipeline.exec().catch((error: unknown) => failed(error))
    const refused = replies?.find(([error]) => error)
    if (refused) failed(refused[0])
    if (minute !== window.minute()) return
    for (const [n, [key, by]] of sending.entries()) {
      const [error, total] = replies?.[n] ?? [new Error('no answer'), undefined]
      // An increment without an answer may have reached Redis. Counting a request twice only makes the limit stricter
      // for that client.
      if (error || typeof total !== 'number') addUnsent(key, by)
      else window.set(key, total + (unsent.get(key) ?? 0))
    }
  }
  const limiter: Limiter = { exhausted, retryAfter, count: (of) => addUnsent(window.count(of), 1) }
  return { limiter, flush }
}

/**
 * Rate limits whose counts all instances share. An event counts here immediately and in other instances about half a
 * second later. No request waits for Redis; without Redis each instance counts for itself. Minutes are those of the
 * wall clock, so that all instances use the same ones.
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
    /** True while Redis is connected. */
    ready: (): boolean => client.status === 'ready',
    close: async (): Promise<void> => {
      closed = true
      timer.cancel()
      disconnect()
      await flushing
    },
  }
}
