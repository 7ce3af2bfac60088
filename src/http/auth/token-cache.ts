import type { TokenInUse } from '../../projections/token-memory/token-slots.ts'

const MOST = 65_536
/** Namespaces that the tokens in the cache may have rights in, together. */
const MOST_PLACES = 4 * MOST

/** A token that was found valid: its key in the index, whose it is, and epoch milliseconds when it ends. */
type CachedToken = { readonly key: string; readonly entry: TokenInUse; readonly expiresAt: number }

/** Valid tokens by the digest of their secret. The one that was put in first leaves for want of room: there are too many, or they have rights in too many namespaces together. */
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
