import { LRUCache } from 'lru-cache'
import { forEachSliced } from '../../base/event-loop.ts'

type Chunks = readonly Buffer[]
type Kept = { readonly name: string; readonly chunks: Promise<Chunks | undefined> }

/** LRU cache of texts that are equal for all clients: the newest text of each key, at most `most` bytes in total. */
export const keptChunks = (most: number) => {
  const kept = new LRUCache<string, Kept>({ maxSize: most })

  const gathered = async (chunks: Iterable<Buffer>, onBytes: (bytes: number) => void): Promise<Chunks | undefined> => {
    const held: Buffer[] = []
    let bytes = 0
    await forEachSliced(chunks, (chunk) => {
      bytes += chunk.length
      held.push(chunk)
      return bytes <= most
    })
    if (bytes > most) return undefined
    onBytes(bytes)
    return held
  }

  /**
   * Returns the chunks of a text by its name; concurrent callers share one computation. The result is undefined if the
   * text is too large to cache.
   */
  return (place: string, name: string, make: () => Iterable<Buffer>): Promise<Chunks | undefined> => {
    const before = kept.get(place)
    if (before?.name === name) return before.chunks
    const isCurrent = () => kept.peek(place) === made
    const made: Kept = {
      name,
      chunks: gathered(make(), (bytes) => isCurrent() && kept.set(place, { ...made }, { size: Math.max(1, bytes) })),
    }
    // The size is known only after the text is complete.
    kept.set(place, made, { size: 1 })
    made.chunks.catch(() => isCurrent() && kept.delete(place))
    return made.chunks
  }
}
