import { LRUCache } from 'lru-cache'

type Limits = { readonly life: number; readonly pause?: number; readonly now: () => Date }

export type Cached<T> = {
  /** The value if it is held and not too old. */
  readonly held: () => T | undefined
  readonly get: () => Promise<T>
  /** The value read anew, unless that was done within the pause; then what came of it: the one held, or the failure. */
  readonly again: () => Promise<T>
}

/**
 * Reads a value when it is first needed and caches it for `life` ms. Concurrent callers share one read. A failed read
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
