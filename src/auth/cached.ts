import { LRUCache } from 'lru-cache'

type Limits = { readonly life: number; readonly pause?: number; readonly now: () => Date }

export type Cached<T> = {
  /** Returns the cached value, unless it has expired. */
  readonly held: () => T | undefined
  readonly get: () => Promise<T>
  /**
   * Reads the value again, at most once per `pause`. Within the pause it returns the last result again: value or
   * failure.
   */
  readonly again: () => Promise<T>
}

/**
 * Caches a value for `life` ms, read at first use. Concurrent callers share one read of the value. A failed read
 * rejects for all of them and is not cached.
 */
export const cached = <T extends object>(read: () => Promise<T>, { life, pause = 0, now }: Limits): Cached<T> => {
  const cache = new LRUCache<'value', T>({
    max: 1,
    ttl: life,
    ttlResolution: 0,
    perf: { now: () => now().getTime() },
    fetchMethod: read,
    noDeleteOnFetchRejection: true,
  })
  let repeated: { readonly at: number; readonly failure?: { readonly error: unknown } } | undefined

  const held = () => cache.get('value')
  const fresh = async () => (await cache.fetch('value', { forceRefresh: true }))!

  return {
    held,
    get: async () => held() ?? fresh(),
    again: async () => {
      const value = held()
      if (value && repeated && now().getTime() - repeated.at < pause) {
        if (repeated.failure) throw repeated.failure.error
        return value
      }
      try {
        const read = await fresh()
        repeated = { at: now().getTime() }
        return read
      } catch (error) {
        repeated = { at: now().getTime(), failure: { error } }
        throw error
      }
    },
  }
}
