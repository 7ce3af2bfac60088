import { LRUCache } from 'lru-cache'
import { sharedCalls } from '../concurrency.ts'
import { backgroundSlicer } from '../event-loop.ts'
import type { Stored } from '../events/log.ts'
import { entryOf, leafOf } from './entry.ts'
import { type FullTile, type GrowingTree, growingTree, type RightTiles } from './growing-tree.ts'
import { HASH_BYTES, type Hash } from './hashes.ts'
import type { LedgerStore, StoredTile } from './ledger-store.ts'
import type { LogDifference } from './log-comparison.ts'
import { rootAt } from './proof/proofs.ts'
import { tamperingOf } from './proof/tampering.ts'
import { entriesOf, fullTiles, recordsFrom, type TileSource } from './tiles/full-tiles.ts'
import { soundTile, type TileMacs, type TileRoot } from './tiles/tile-macs.ts'
import { nodesFromTiles } from './tiles/tile-reader.ts'
import { entriesBundle, TILE_WIDTH } from './tiles/tiles.ts'

/** Number of full tiles in memory: 8 KiB each. */
const CACHED = 256

/** The state of a tree that continues from stored tiles, and the last of them. */
type Standing = { readonly right: RightTiles; readonly last: StoredTile }

type LogTreeOptions = TileSource & {
  readonly store: Pick<LedgerStore, 'putTiles' | 'tile' | 'tileRoots' | 'lastTile' | 'dropTiles'>
  readonly macs: TileMacs
  /** True while this instance stores tiles. Two that do so at once are harmless. */
  readonly writes: () => boolean
}

/** The stored tiles up to number `end` of level 0. Undefined if one is missing, or is not as it was written. */
const standingAt = async ({ store, macs }: LogTreeOptions, end: number): Promise<Standing | undefined> => {
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

/** The first difference between the last stored tile and the events of the log under it. */
const differenceIn = async (
  { log, positionOf }: LogTreeOptions,
  { n, hashes, position, event }: StoredTile,
): Promise<LogDifference | undefined> => {
  const begin = n * TILE_WIDTH
  if ((await log.head()) < position) return { index: begin, kind: 'truncated' }
  const leaves: Hash[] = []
  let last: Stored | undefined
  for await (const page of log.readAll(await positionOf(begin - 1), position))
    for (const record of page) {
      if (leaves.length < 2 * TILE_WIDTH) leaves.push(leafOf(entryOf(record)))
      last = record
    }
  const found = await tamperingOf(hashes, Buffer.concat(leaves))
  if (found) return { kind: found.kind, index: begin + found.index }
  const isSame = leaves.length === TILE_WIDTH && last?.id === event && last.position === position
  return isSame ? undefined : { index: begin + TILE_WIDTH - 1, kind: 'changed' }
}

/**
 * The tree over the log: it grows with the log, and reads the hashes of its parts. Full tiles are stored; the rest is
 * made from the log at the next start.
 */
export const logTree = (options: LogTreeOptions) => {
  const { log, store, macs, writes } = options
  const recent = new LRUCache<string, Uint8Array>({ max: CACHED })
  let isStale = false
  const readFull = fullTiles({ ...options, isStale: () => isStale }, recent)
  const shared = sharedCalls<void>()
  let [full, position] = [[] as FullTile[], 0n]
  /** Largest position in demand. Calls that wait for a running one share the next, so it reads up to this position. */
  let wanted = 0n
  let found: LogDifference | undefined
  let grown: GrowingTree = growingTree([], (tile) => full.push(tile))

  /** Stores the tiles that became full under the last event. */
  const storeFull = async (event: string): Promise<void> => {
    const tiles = full.map((tile) => macs.seal({ ...tile, position, event }))
    full = []
    for (const { level, n, hashes } of tiles) recent.set(`${level}/${n}`, hashes)
    if (!writes()) return
    if (isStale) await store.dropTiles()
    isStale = false
    await store.putTiles(tiles)
  }
  const append = async (page: readonly Stored[], until: bigint): Promise<void> => {
    const pause = backgroundSlicer()
    for (const record of page) {
      if (record.position > until) return
      grown.append(leafOf(entryOf(record)))
      position = record.position
      if (full.length > 0) await storeFull(record.id)
      const paused = pause()
      if (paused) await paused
    }
  }

  const tile = async (level: number, n: number): Promise<Uint8Array> =>
    grown.rightmost(level, n) ?? (await readFull(level, n))
  const nodes = nodesFromTiles(({ level, index }) => tile(level, index))

  return {
    /**
     * Continues from the stored tiles. If they are damaged, or the log differs from the last of them, the tree is made
     * from the log, and the stored tiles are replaced.
     */
    begin: async (): Promise<void> => {
      const end = await store.lastTile(0)
      const standing = end === undefined ? undefined : await standingAt(options, end)
      found = standing && (await differenceIn(options, standing.last))
      isStale = end !== undefined && (standing === undefined || found !== undefined)
      position = standing && !isStale ? standing.last.position : 0n
      grown = growingTree(standing && !isStale ? standing.right : [], (each) => full.push(each))
    },
    /** The difference between the log and the last stored tile that the beginning found. */
    found: (): LogDifference | undefined => found,
    /** Hashes of the leaves after the last full tile. */
    tail: (): readonly Hash[] => grown.tail(),
    /** True while the stored tiles are those of another log. */
    isStale: (): boolean => isStale,
    /** Appends the events of the log up to a position. `stop` ends it early. */
    advance: (until: bigint, stop: AbortSignal): Promise<void> => {
      if (until > wanted) wanted = until
      return shared('advance', async () => {
        const end = wanted
        if (position >= end) return
        for await (const page of log.readAll(position, end)) {
          await append(page, end)
          if (stop.aborted) return
        }
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
