import { LRUCache } from 'lru-cache'
import { sharedCalls } from '../base/concurrency.ts'
import type { Stored } from '../events/log.ts'
import { HASH_BYTES, type Hash } from '../verifier/hashes.ts'
import { rootAt } from '../verifier/proof/proofs.ts'
import { TILE_WIDTH } from '../verifier/tiles.ts'
import { entriesBundle, entriesOf, fullTiles, recordsFrom } from './tiles/full-tiles.ts'
import {
  eachLeaf,
  type FullTile,
  type GrowingTree,
  growingTree,
  type StoredTilesOptions,
  storedTiles,
} from './tiles/stored-tiles.ts'
import { nodesFromTiles } from './tiles/tile-reader.ts'

/** Number of full tiles in memory: 8 KiB each. */
const CACHED = 256

/**
 * The tree over the log: it grows with the log, and reads the hashes of its parts. Full tiles are stored; the rest is
 * made from the log at the next start.
 */
export const logTree = (options: StoredTilesOptions) => {
  const { log } = options
  const recent = new LRUCache<string, Uint8Array>({ max: CACHED })
  const stored = storedTiles(options)
  const readFull = fullTiles({ ...options, isStale: stored.isStale }, recent)
  const shared = sharedCalls<void>()
  let [full, position] = [[] as FullTile[], 0n]
  /** Largest position in demand. Calls that wait for a running one share the next, so it reads up to this position. */
  let wanted = 0n
  let grown: GrowingTree = growingTree([], (tile) => full.push(tile))

  const addFull = (last: Stored): Promise<void> => {
    const tiles = full
    full = []
    for (const { level, n, hashes } of tiles) recent.set(`${level}/${n}`, hashes)
    return stored.add(tiles, last)
  }
  const append = (leaf: Hash, record: Stored): Promise<void> | undefined => {
    const compared = stored.compare(leaf, grown.size())
    grown.append(leaf)
    position = record.position
    return full.length > 0 ? addFull(record) : compared
  }

  const tile = async (level: number, n: number): Promise<Uint8Array> =>
    grown.rightmost(level, n) ?? (await readFull(level, n))
  const nodes = nodesFromTiles(({ level, index }) => tile(level, index))

  return {
    /**
     * Continues from the stored tiles. If they are damaged, or the log differs from the last of them, the tree is made
     * from the log and compared with them.
     */
    begin: async (): Promise<void> => {
      const standing = await stored.begin()
      position = standing?.last.position ?? 0n
      grown = growingTree(standing?.right ?? [], (each) => full.push(each))
    },
    found: stored.found,
    isStale: stored.isStale,
    /** The leaves after the last full tile, as a sealed record keeps them. */
    sealedTail: (): string => options.macs.sealTail(grown.size(), grown.tail()),
    /** Hashes of the leaves after the last full tile. */
    tail: (): readonly Hash[] => grown.tail(),
    /** Appends the events of the log up to a position. `stop` ends it early. */
    advance: (until: bigint, stop: AbortSignal): Promise<void> => {
      if (until > wanted) wanted = until
      return shared('advance', async () => {
        const end = wanted
        if (position < end) await eachLeaf(log.readAll(position, end), end, append, stop)
        if (!stop.aborted) await stored.settle(grown.size(), position)
      })
    },
    size: (): number => grown.size(),
    /** Position of the last event in the tree. */
    position: (): bigint => position,
    root: (): Hash => grown.root(),
    /** Root of the tree over the first `size` events, at most `size()`. */
    rootAt: (size: number): Promise<Hash> =>
      size === grown.size() ? Promise.resolve(grown.root()) : rootAt(size, nodes),
    nodes,
    /** Bundle of the first `width` entries of a tile within the tree; fewer if the log has lost events. */
    entries: async (n: number, width: number): Promise<Uint8Array> =>
      entriesBundle(await entriesOf(await recordsFrom(options, n * TILE_WIDTH, width))),
    /** The first `width` hashes of a tile. They lie within the tree. */
    tile: async (level: number, n: number, width: number): Promise<Uint8Array> =>
      (await tile(level, n)).subarray(0, width * HASH_BYTES),
  }
}
export type LogTree = ReturnType<typeof logTree>
