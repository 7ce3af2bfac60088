import { HASH_BYTES, isSameHash, leafOf } from '../../../src/verifier/hashes.ts'
import type { Tree } from '../../../src/verifier/proof/proofs.ts'
import { entriesIn, TILE_WIDTH, tilePath, tileWidth } from '../../../src/verifier/tiles.ts'
import { compactRange } from '../../../src/verifier/tree.ts'
import { slices } from './pace.ts'

/** Number of tiles that are requested before they are needed. */
const AHEAD = 4

/** First difference: its place, and whether an entry differs from its leaf, or the root from a signed one. */
type Difference = { readonly cause: 'event' | 'tree'; readonly index: number }

type Recompute = {
  /** Signed trees in ascending order of size, each size once; the last is the tree to recompute. */
  readonly signed: readonly Tree[]
  /** Reads a tile or a bundle by its path. */
  readonly read: (path: string) => Promise<Uint8Array>
  readonly onProgress: (done: number) => void
}

/** Number of leaves under the tile with this index. */
const widthIn = (index: number, size: number): number => tileWidth(size, { level: 0, index })

/** The leaves of a tile, and the bundle of the entries that they are made of. */
type Leaves = { readonly hashes: Uint8Array; readonly entries: readonly Uint8Array[] }

/** Returns a function that reads the tile with the next index and requests those that follow it. */
const leavesAhead = (size: number, read: Recompute['read']): ((index: number) => Promise<Leaves>) => {
  const requested = new Map<number, Promise<Leaves>>()
  const leavesOf = async (index: number): Promise<Leaves> => {
    const width = widthIn(index, size)
    const paths = ([0, 'entries'] as const).map((level) => tilePath({ level, index, width }))
    const [hashes, bundle] = await Promise.all(paths.map(read))
    return { hashes: hashes!, entries: entriesIn(bundle!) }
  }
  return (index) => {
    for (let next = index; next < index + AHEAD && widthIn(next, size) > 0; next++) {
      if (requested.has(next)) continue
      const leaves = leavesOf(next)
      // The rejection is reported when the tile is needed.
      leaves.catch(() => undefined)
      requested.set(next, leaves)
    }
    const leaves = requested.get(index)!
    requested.delete(index)
    return leaves
  }
}

/**
 * Recomputes the tree from its entries, compares each leaf with the tile and the root with every signed tree. Returns
 * the first difference; undefined if there is none. It works in slices, because a worker needs a trusted type that the
 * policy of the page forbids (docs/decisions/0045).
 */
export const recompute = async ({ signed, read, onProgress }: Recompute): Promise<Difference | undefined> => {
  const { size } = signed.at(-1)!
  const leavesAt = leavesAhead(size, read)
  const tree = compactRange()
  const pause = slices()
  let [done, agreed, next] = [0, 0, 0]
  for (let index = 0; widthIn(index, size) > 0; index++) {
    const { hashes, entries } = await leavesAt(index)
    for (let n = 0; n < widthIn(index, size); n++) {
      const entry = entries[n]
      const leaf = entry && leafOf(entry)
      if (!leaf || !isSameHash(leaf, hashes.subarray(n * HASH_BYTES, (n + 1) * HASH_BYTES)))
        return { cause: 'event', index: index * TILE_WIDTH + n }
      tree.append(leaf)
      done++
      while (signed[next]?.size === done) {
        if (!isSameHash(tree.root(), signed[next]!.root)) return { cause: 'tree', index: agreed }
        agreed = done
        next++
      }
      const paused = pause()
      if (paused) await paused
    }
    onProgress(done)
  }
  return undefined
}
