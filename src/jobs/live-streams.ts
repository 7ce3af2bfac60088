import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Actor } from '../events/meta.ts'

/** Time in which a reader that lost its live stream continues it without a new record. */
const CONTINUED_MS = 600_000
/** Maximum number of holders whose live streams are remembered, and of streams of each. */
const [HOLDERS, STREAMS] = [1_000, 16]

/** SHA-256 digest of the JSON text of parts, of 43 characters. */
export const digestOf = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('base64url')

/** A recorded live stream: its holder, caller and filter, and the index of its first event. */
type LiveStream = {
  readonly holder: string
  readonly actor: Actor
  readonly filter: Readonly<Record<string, string>>
  readonly fromIndex: number
}

type Seen = LRUCache<string, { readonly fromIndex: number; readonly at: number }>

/**
 * Live streams that run or have just ended, by holder. A client that continues such a stream causes no new record. A
 * holder evicts only its own streams.
 */
export const liveStreams = (now: () => Date) => {
  const holders = new LRUCache<string, Seen>({ max: HOLDERS })
  const nameOfStream = ({ actor: { id, kind }, filter }: LiveStream): string => digestOf(id ?? kind, filter)
  return {
    /** True if a stream continues a recorded one of the same caller and filter, within its range. */
    continues: (stream: LiveStream): boolean => {
      const before = holders.get(stream.holder)?.get(nameOfStream(stream))
      const isRecent = before !== undefined && now().getTime() - before.at < CONTINUED_MS
      return isRecent && stream.fromIndex >= before.fromIndex
    },
    /** Records the beginning and the end of a recorded stream. */
    followed: (stream: LiveStream): void => {
      const at = now().getTime()
      const seen: Seen = holders.get(stream.holder) ?? new LRUCache({ max: STREAMS })
      holders.set(stream.holder, seen)
      const name = nameOfStream(stream)
      const before = seen.get(name)
      const earlier = before && at - before.at < CONTINUED_MS ? before.fromIndex : stream.fromIndex
      seen.set(name, { fromIndex: Math.min(stream.fromIndex, earlier), at })
    },
  }
}
