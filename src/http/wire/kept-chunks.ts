import { pacer } from '../../concurrency.ts'

type Kept = { readonly name: string; readonly chunks: Promise<readonly Buffer[] | undefined>; bytes: number }

/** Keeps texts that are the same for everybody, the newest of each place, until they come to more than `most` bytes: then those asked for longest ago go. */
export const keptChunks = (most: number) => {
  const kept = new Map<string, Kept>()

  const makeRoom = (): void => {
    let bytes = 0
    for (const one of kept.values()) bytes += one.bytes
    for (const [place, one] of kept) {
      if (bytes <= most) return
      kept.delete(place)
      bytes -= one.bytes
    }
  }

  const gathered = async (
    chunks: Iterable<Buffer>,
    told: (bytes: number) => void,
  ): Promise<readonly Buffer[] | undefined> => {
    const pause = pacer()
    const held: Buffer[] = []
    let bytes = 0
    for (const chunk of chunks) {
      bytes += chunk.length
      if (bytes > most) return undefined
      held.push(chunk)
      await pause()
    }
    told(bytes)
    return held
  }

  /** The chunks of a text by its name; those who ask while it is made get the same. Undefined: it is too large to be kept. */
  return (place: string, name: string, make: () => Iterable<Buffer>): Promise<readonly Buffer[] | undefined> => {
    const before = kept.get(place)
    kept.delete(place)
    if (before?.name === name) {
      kept.set(place, before)
      return before.chunks
    }
    const chunks = gathered(make(), (bytes) => {
      made.bytes = bytes
      makeRoom()
    })
    const made: Kept = { name, chunks, bytes: 0 }
    kept.set(place, made)
    chunks.catch(() => kept.get(place) === made && kept.delete(place))
    return chunks
  }
}
