import type { TokenInUse } from '../services/auth.ts'

const MOST = 65_536
/** Maximum total number of namespaces in which the cached tokens have rights. */
const MOST_PLACES = 4 * MOST

/** A valid token: its key in the index, its entry, and its expiry in epoch ms. */
type CachedToken = { readonly key: string; readonly entry: TokenInUse; readonly expiresAt: number }

/**
 * FIFO cache of valid tokens, by the digest of their secret. Bounded by the number of tokens and by the total number of
 * namespaces in which they have rights.
 */
export const tokenCache = (most = MOST, mostPlaces = MOST_PLACES) => {
  const tokens = new Map<string, CachedToken>()
  let places = 0
  const isFull = (): boolean => tokens.size > most || (places > mostPlaces && tokens.size > 1)
  const remove = (digest: string): void => {
    places -= tokens.get(digest)?.entry.reach.places.size ?? 0
    tokens.delete(digest)
  }
  return {
    get: (digest: string): CachedToken | undefined => tokens.get(digest),
    put: (digest: string, token: CachedToken): TokenInUse => {
      remove(digest)
      tokens.set(digest, token)
      places += token.entry.reach.places.size
      while (isFull()) remove(tokens.keys().next().value!)
      return token.entry
    },
  }
}
