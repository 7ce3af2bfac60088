import { LRUCache } from 'lru-cache'

/** Time in ms for which a request and its answer are stored. */
export const KEPT_MS = 24 * 3_600_000
/**
 * Maximum bytes of a stored answer. If an answer is larger, a retry runs the request again under its command id, with
 * the same outcome.
 */
const MOST_KEPT_BYTES = 16_384
/** Maximum total bytes of stored answers for each owner in 24 hours. Answers beyond this maximum are not stored. */
const OWNERS_BYTES = 64 * 1_048_576
/** Maximum number of owners whose bytes are counted. */
const OWNERS = 10_000

/** Counts the bytes of stored answers per owner over 24 hours; returns false if the limit is reached. */
const keptBytes = (now: () => Date) => {
  const owners = new LRUCache<string, { readonly until: number; bytes: number }>({ max: OWNERS })
  return (owner: string, bytes: number): boolean => {
    const time = now().getTime()
    const found = owners.get(owner)
    const held = found && time < found.until ? found : { until: time + KEPT_MS, bytes: 0 }
    if (held !== found) owners.set(owner, held)
    if (held.bytes + bytes > OWNERS_BYTES) return false
    held.bytes += bytes
    return true
  }
}

/** Decides whether an answer is stored. An answer with a secret is always stored, so that the secret is given once. */
export const storedAnswers = (now: () => Date) => {
  const take = keptBytes(now)
  return (owner: string, text: string, secret: boolean): boolean => {
    const bytes = Buffer.byteLength(text)
    return secret || (bytes <= MOST_KEPT_BYTES && take(owner, bytes))
  }
}
