import { LRUCache } from 'lru-cache'
import { sharedCalls } from '../concurrency.ts'
import { timeSlicer } from '../event-loop.ts'
import type { EventLog, Stored } from '../events/log.ts'
import { entryOf, leafOf } from './entry.ts'
import { type FullTile, type GrowingTree, growingTree, type RightTiles } from './growing-tree.ts'
import { HASH_BYTES, type Hash } from './hashes.ts'
import type { LedgerStore, StoredTile } from './ledger-store.ts'
import { rootAt } from './proofs.ts'
import { hashesIn, isTileOf, rootOfTile } from './tile-hashes.ts'
import type { TileMacs, TileRoot } from './tile-macs.ts'
import { nodesFromTiles } from './tile-reader.ts'
import { entriesBundle, TILE_WIDTH } from './tiles.ts'

/** Number of full tiles in memory: 8 KiB each. */
const CACHED = 256

/** The first difference between the log and the kept tiles. */
export type Difference = { readonly index: number; readonly kind: 'changed' | 'truncated' }

/** The state of a tree that continues from stored tiles, and the last event under them. */
type Standing = { readonly right: RightTiles; readonly position: bigint; readonly last: StoredTile | undefined }

type LogTreeOptions = {
  readonly log: Pick<EventLog, 'readAll'>
  readonly store: Pick<LedgerStore, 'putTiles' | 'tile' | 'tileRoots' | 'lastTile'>
  readonly macs: TileMacs
  /** Position of the event with this index; 0n for −1. */
  readonly positionOf: (index: number) => Promise<bigint>
  /** True while this instance stores tiles. Two that do so at once are harmless. */
  readonly writes: () => boolean
}

const NEW: Standing = { right: [], position: 0n, last: undefined }

/** Continues from the stored tiles. Begins with an empty tree if one is missing, or is not as it was written. */
const standingOf = async ({ store, macs }: LogTreeOptions): Promise<Standing> => {
  const end = await store.lastTile(0)
  if (end === undefined) return NEW
  const last = await store.tile(0, end)
  if (!last || !macs.holds(last) || !isTileOf(last.hashes, last.root)) return NEW
  const right: (readonly Hash[])[] = [[]]
  for (let [level, full] = [0, end + 1]; full > 0; level++) {
    const begin = full - (full % TILE_WIDTH)
    const roots: readonly TileRoot[] = begin === full ? [] : await store.tileRoots(level, begin)
    const own = roots.slice(0, full - begin)
    if (own.length < full - begin || !own.every((tile, n) => tile.n === begin + n && macs.holds(tile))) return NEW
    right.push(own.map(({ root }) => root))
    full = begin / TILE_WIDTH
  }
  return { right, position: last.position, last }
}

/** Compares the events under the last stored tile with its hashes. */
const differenceIn = async (
  { log, positionOf }: LogTreeOptions,
  { n, hashes, position }: StoredTile,
): Promise<Difference | undefined> => {
  const begin = n * TILE_WIDTH
  const kept = hashesIn(hashes)
  let index = begin
  for await (const page of log.readAll(await positionOf(begin - 1), position))
    for (const record of page) {
      const expected = kept[index - begin]
      if (!expected || Buffer.compare(leafOf(entryOf(record)), expected) !== 0) return { index, kind: 'changed' }
      index++
    }
  return index === begin + TILE_WIDTH ? undefined : { index, kind: 'truncated' }
}

/** The records with `count` indexes from `first` on. Throws if the log ends before. */
const recordsFrom = async (
  { log, positionOf }: Pick<LogTreeOptions, 'log' | 'positionOf'>,
  first: number,
  count: number,
): Promise<readonly Stored[]> => {
  const records: Stored[] = []
  for await (const page of log.readAll(await positionOf(first - 1))) {
    records.push(...page.slice(0, count - records.length))
    if (records.length === count) return records
  }
  throw new Error(`the log does not contain the events ${first} to ${first + count - 1}`)
}

/** Entries of records, made in slices. */
const entriesOf = async (records: readonly Stored[]): Promise<readonly string[]> => {
  const pause = timeSlicer()
  const entries: string[] = []
  for (const record of records) {
    entries.push(entryOf(record))
    const paused = pause()
    if (paused) await paused
  }
  return entries
}

/** Reads a full tile: from memory, from the store, or else from the events of the log. */
const fullTiles = (options: LogTreeOptions, recent: LRUCache<string, Uint8Array>) => {
  const { store, macs } = options
  const derived = async (level: number, n: number): Promise<Uint8Array> => {
    if (level === 0)
      return Buffer.concat((await entriesOf(await recordsFrom(options, n * TILE_WIDTH, TILE_WIDTH))).map(leafOf))
    const pause = timeSlicer()
    const roots: Hash[] = []
    for (let below = n * TILE_WIDTH; below < (n + 1) * TILE_WIDTH; below++) {
      roots.push(rootOfTile(await read(level - 1, below))!)
      await pause()
    }
    return Buffer.concat(roots)
  }
  const read = async (level: number, n: number): Promise<Uint8Array> => {
    const name = `${level}/${n}`
    const known = recent.get(name)
    if (known) return known
    const stored = await store.tile(level, n)
    const hashes =
      stored && macs.holds(stored) && isTileOf(stored.hashes, stored.root) ? stored.hashes : await derived(level, n)
    recent.set(name, hashes)
    return hashes
  }
  return read
}

/**
 * The tree over the log: it grows with the log, and reads the hashes of its parts. Full tiles are stored; the rest is
 * made from the log at the next start.
 */
export const logTree = (options: LogTreeOptions) => {
  const { log, store, macs, writes } = options
  const recent = new LRUCache<string, Uint8Array>({ max: CACHED })
  const readFull = fullTiles(options, recent)
  const shared = sharedCalls<void>()
  let full: FullTile[] = []
  let position = 0n
  let grown: GrowingTree = growingTree([], (tile) => full.push(tile))

  /** Stores the tiles that became full under the last event. */
  const storeFull = async (event: string): Promise<void> => {
    const tiles = full.map((tile) => macs.seal({ ...tile, position, event }))
    full = []
    for (const { level, n, hashes } of tiles) recent.set(`${level}/${n}`, hashes)
    if (writes()) await store.putTiles(tiles)
  }
  const append = async (page: readonly Stored[], until: bigint): Promise<void> => {
    const pause = timeSlicer()
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
    /** Continues from the stored tiles. Returns the first difference between the log and the last of them. */
    begin: async (): Promise<Difference | undefined> => {
      const standing = await standingOf(options)
      ;({ position } = standing)
      grown = growingTree(standing.right, (each) => full.push(each))
      return standing.last && differenceIn(options, standing.last)
    },
    /** Appends the events of the log up to a position. `stop` ends it early. */
    advance: (until: bigint, stop: AbortSignal): Promise<void> =>
      shared('advance', async () => {
        if (position >= until) return
        for await (const page of log.readAll(position, until)) {
          await append(page, until)
          if (stop.aborted) return
        }
      }),
    size: (): number => grown.size(),
    /** Position of the last event in the tree. */
    position: (): bigint => position,
    root: (): Hash => grown.root(),
    /** Root of the tree over the first `size` events, at most `size()`. */
    rootAt: (size: number): Promise<Hash> =>
      size === grown.size() ? Promise.resolve(grown.root()) : rootAt(size, nodes),
    nodes,
    /** Bundle of the first `width` entries of a tile. They lie within the tree. */
    entries: async (n: number, width: number): Promise<Uint8Array> =>
      entriesBundle(await entriesOf(await recordsFrom(options, n * TILE_WIDTH, width))),
    /** The first `width` hashes of a tile. They lie within the tree. */
    tile: async (level: number, n: number, width: number): Promise<Uint8Array> =>
      (await tile(level, n)).subarray(0, width * HASH_BYTES),
  }
}
export type LogTree = ReturnType<typeof logTree>
