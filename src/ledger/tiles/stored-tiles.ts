import { backgroundSlicer, sliced } from '../../base/event-loop.ts'
import type { Stored } from '../../events/log.ts'
import { entryOf } from '../../verifier/entry.ts'
import { HASH_BYTES, type Hash, isSameHash, leafOf } from '../../verifier/hashes.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../../verifier/tiles.ts'
import { compactRange, type Frontier } from '../../verifier/tree.ts'
import type { LedgerStore, SealedRecord, StoredTile } from '../ledger-store.ts'
import { keptInStore, type LogDifference, leafComparison, sealedSize } from '../log-comparison.ts'
import type { TileSource } from './full-tiles.ts'
import { soundTile, type TileMacs, type TileRoot } from './tile-macs.ts'

/** A tile that has just become full, without the event under it. */
export type FullTile = {
  readonly level: number
  readonly n: number
  readonly hashes: Uint8Array
  readonly root: Hash
}

/** Hashes of the rightmost tile of each level, without full ones. */
type RightTiles = readonly (readonly Hash[])[]

/** The frontier of a tree whose leaves fill whole tiles of level 0, from the hashes of its rightmost tiles above. */
const frontierOf = (right: RightTiles): Frontier => {
  let size = 0
  const hashes: Hash[] = []
  for (const [level, tile] of right.entries()) {
    const row = compactRange()
    for (const hash of tile) row.append(hash)
    hashes.unshift(...row.frontier().hashes)
    size += tile.length * TILE_WIDTH ** level
  }
  return { size, hashes }
}

/** Tree that grows leaf by leaf, with the hashes of its rightmost tiles. It passes each full tile to `onFull`. */
export const growingTree = (start: RightTiles, onFull: (tile: FullTile) => void) => {
  const right: Hash[][] = start.map((tile) => [...tile])
  const range = compactRange(frontierOf(start), (level, index, hash) => {
    if (level % TILE_HEIGHT !== 0) return
    const tileLevel = level / TILE_HEIGHT
    const below = right[tileLevel - 1]
    if (below) {
      onFull({ level: tileLevel - 1, n: index, hashes: Buffer.concat(below), root: hash })
      below.length = 0
    }
    ;(right[tileLevel] ??= []).push(hash)
  })
  return {
    append: range.append,
    root: range.root,
    size: (): number => range.size,
    /** Hashes of the leaves after the last full tile. */
    tail: (): readonly Hash[] => [...(right[0] ?? [])],
    /** Hashes of the rightmost tile of a level; undefined if the number is that of another tile. */
    rightmost: (level: number, n: number): Uint8Array | undefined => {
      const leaves = Math.floor(range.size / TILE_WIDTH ** level)
      const hashes = right[level]
      return hashes && hashes.length > 0 && Math.floor(leaves / TILE_WIDTH) === n
        ? Buffer.concat(hashes, hashes.length * HASH_BYTES)
        : undefined
    },
  }
}
export type GrowingTree = ReturnType<typeof growingTree>

/** Parts that store the tiles of a tree over a log. */
export type StoredTilesOptions = TileSource & {
  readonly store: Pick<LedgerStore, 'putTiles' | 'tile' | 'tileRoots' | 'lastTile' | 'dropTiles'>
  readonly macs: TileMacs
  /** True while this instance stores tiles. Two that do so at once are harmless. */
  readonly writes: () => boolean
  /** Sealed records of the ledger of the log. */
  readonly sealed: () => Promise<readonly Pick<SealedRecord, 'size' | 'tail'>[]>
}

/** The state of a tree that continues from stored tiles, and the last of them. */
type Standing = { readonly right: RightTiles; readonly last: StoredTile }

/** The stored tiles up to number `end` of level 0. Undefined if one is missing, or is not as it was written. */
const standingAt = async ({ store, macs }: StoredTilesOptions, end: number): Promise<Standing | undefined> => {
  const last = await soundTile(store, macs, 0, end)
  if (!last) return undefined
  const right: (readonly Hash[])[] = [[]]
  for (let [level, full] = [0, end + 1]; full > 0; level++) {
    const begin = full - (full % TILE_WIDTH)
    const roots: readonly TileRoot[] = begin === full ? [] : await store.tileRoots(level, begin)
    const own = roots.slice(0, full - begin)
    if (own.length < full - begin || !own.every((tile, n) => macs.holds(tile, level, begin + n))) return undefined
    right.push(own.map(({ root }) => root))
    full = begin / TILE_WIDTH
  }
  return { right, last }
}

/** True if a stored tile is that of the events of the log under it. */
const isOfLog = async (
  { log, positionOf }: StoredTilesOptions,
  { n, hashes, position, event }: StoredTile,
): Promise<boolean> => {
  if ((await log.head()) < position) return false
  const leaves: Hash[] = []
  let last: Stored | undefined
  for await (const page of log.readAll(await positionOf(n * TILE_WIDTH - 1), position))
    for (const record of page) {
      if (leaves.length <= TILE_WIDTH) leaves.push(leafOf(entryOf(record)))
      last = record
    }
  return last?.id === event && last.position === position && isSameHash(Buffer.concat(leaves), hashes)
}

/** Passes the leaves of records up to a position on, in slices. `stop` ends it after a slice. */
export const eachLeaf = async (
  pages: AsyncIterable<readonly Stored[]>,
  until: bigint,
  onLeaf: (leaf: Hash, record: Stored) => Promise<void> | undefined,
  stop?: AbortSignal,
): Promise<void> => {
  for await (const part of sliced(pages, backgroundSlicer())) {
    for (const record of part) {
      if (record.position > until) return
      const work = onLeaf(leafOf(entryOf(record)), record)
      if (work) await work
    }
    if (stop?.aborted) return
  }
}

/**
 * The stored tiles under a tree that grows. Tiles that may be of another log are replaced only after all leaves were
 * compared with them, and never if a sealed event differs from them, because they show which one.
 */
export const storedTiles = (options: StoredTilesOptions) => {
  const { log, store, macs, writes } = options
  let [isStale, isEvidence] = [false, false]
  let found: LogDifference | undefined
  let comparison: ReturnType<typeof leafComparison> | undefined

  const put = (tiles: readonly FullTile[], { position, id }: Stored): Promise<void> =>
    store.putTiles(tiles.map((tile) => macs.seal({ ...tile, position, event: id })))
  const replace = async (position: bigint): Promise<void> => {
    await store.dropTiles()
    const tiles: FullTile[] = []
    const tree = growingTree([], (tile) => tiles.push(tile))
    await eachLeaf(log.readAll(0n, position), position, (leaf, record) => {
      tree.append(leaf)
      return tiles.length > 0 ? put(tiles.splice(0), record) : undefined
    })
    isStale = false
  }

  return {
    /** The tiles from which a tree continues; undefined if there are none, or they are not those of the log. */
    begin: async (): Promise<Standing | undefined> => {
      const end = await store.lastTile(0)
      const standing = end === undefined ? undefined : await standingAt(options, end)
      const own = standing && (await isOfLog(options, standing.last)) ? standing : undefined
      isStale = end !== undefined && !own
      const kept = await keptInStore(store, macs, await options.sealed(), false)
      const isWhole = own !== undefined && kept.size <= (own.last.n + 1) * TILE_WIDTH
      comparison = isWhole ? undefined : leafComparison(kept)
      return own
    },
    /** True while the stored tiles may be those of another log. */
    isStale: (): boolean => isStale,
    /** The difference between the log and the kept hashes that the first read after the beginning found. */
    found: (): LogDifference | undefined => found,
    /** Receives each leaf after the beginning, in order. */
    compare: (leaf: Hash, index: number): Promise<void> | undefined => comparison?.onLeaf(leaf, index),
    /** Stores tiles that became full under an event. */
    add: async (tiles: readonly FullTile[], last: Stored): Promise<void> => {
      if (writes() && !isStale) await put(tiles, last)
    },
    /** Ends the comparison at a difference, or once the tree has all kept or all sealed events. It ends at a position. */
    settle: async (size: number, position: bigint): Promise<void> => {
      if (comparison) {
        const sealed = sealedSize(await options.sealed())
        if (!comparison.isDifferent() && size < Math.min(comparison.has, sealed)) return
        found = await comparison.difference(size)
        isEvidence = found !== undefined && found.index < sealed
        comparison = undefined
      }
      if (isStale && !isEvidence && writes()) await replace(position)
    },
  }
}
