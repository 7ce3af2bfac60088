import type { LRUCache } from 'lru-cache'
import { forEachSliced, sliced } from '../../base/event-loop.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { entryOf } from '../../verifier/entry.ts'
import { type Hash, leafOf } from '../../verifier/hashes.ts'
import { TILE_WIDTH } from '../../verifier/tiles.ts'
import type { LedgerStore } from '../ledger-store.ts'
import { rootOfTile, soundTile, type TileMacs } from './tile-macs.ts'

/** The log from which tiles are made. */
export type TileSource = {
  readonly log: Pick<EventLog, 'readAll' | 'head'>
  /** Position of the event with this index; 0n for −1. */
  readonly positionOf: (index: number) => Promise<bigint>
}

type FullTilesOptions = TileSource & {
  readonly store: Pick<LedgerStore, 'tile'>
  readonly macs: TileMacs
  /** True while the stored tiles may be those of another log. */
  readonly isStale: () => boolean
}

/** The records with `count` indexes from `first` on; fewer if the log ends before. */
export const recordsFrom = async (
  { log, positionOf }: TileSource,
  first: number,
  count: number,
): Promise<readonly Stored[]> => {
  const records: Stored[] = []
  for await (const page of log.readAll(await positionOf(first - 1))) {
    records.push(...page.slice(0, count - records.length))
    if (records.length === count) return records
  }
  return records
}

/** Entries of records, made in slices. */
export const entriesOf = async (records: readonly Stored[]): Promise<readonly string[]> => {
  const entries: string[] = []
  await forEachSliced(records, (record) => entries.push(entryOf(record)))
  return entries
}

/** Length of an entry in a bundle, in bytes. */
const MAX_ENTRY_BYTES = 0xff_ff

/** Returns the bundle of at most 256 entries: each entry in UTF-8 after its length as big-endian uint16. */
export const entriesBundle = (entries: readonly string[]): Uint8Array => {
  const lengths = entries.map((entry) => Buffer.byteLength(entry))
  const bundle = Buffer.alloc(lengths.reduce((sum, length) => sum + 2 + length, 0))
  let at = 0
  for (const [n, entry] of entries.entries()) {
    if (lengths[n]! > MAX_ENTRY_BYTES)
      throw new Error(`an entry of ${lengths[n]!} bytes exceeds ${MAX_ENTRY_BYTES} bytes`)
    at = bundle.writeUInt16BE(lengths[n]!, at)
    at += bundle.write(entry, at)
  }
  return bundle
}

/** Reads a full tile: from memory, from the store, or else from the events of the log. */
export const fullTiles = (options: FullTilesOptions, recent: LRUCache<string, Uint8Array>) => {
  const { store, macs, isStale } = options
  const derived = async (level: number, n: number): Promise<Uint8Array> => {
    if (level === 0) {
      const first = n * TILE_WIDTH
      const records = await recordsFrom(options, first, TILE_WIDTH)
      if (records.length < TILE_WIDTH)
        throw new Error(`the log does not contain the events ${first + records.length} to ${first + TILE_WIDTH - 1}`)
      return Buffer.concat((await entriesOf(records)).map(leafOf))
    }
    const roots: Hash[] = []
    for await (const part of sliced([Array.from({ length: TILE_WIDTH }, (_, each) => n * TILE_WIDTH + each)]))
      for (const below of part) roots.push(rootOfTile(await read(level - 1, below))!)
    return Buffer.concat(roots)
  }
  const read = async (level: number, n: number): Promise<Uint8Array> => {
    const name = `${level}/${n}`
    const known = recent.get(name)
    if (known) return known
    const stored = isStale() ? undefined : await soundTile(store, macs, level, n)
    const hashes = stored?.hashes ?? (await derived(level, n))
    recent.set(name, hashes)
    return hashes
  }
  return read
}
