import { Binary, type Db } from 'mongodb'
import {
  type KeptCheckpoint,
  type LedgerStore,
  type ScrubResult,
  type SealedRecord,
  type StoredTile,
  sealedRecordOf,
} from '../../ledger/ledger-store.ts'
import { type Calls, unlessDuplicate } from './calls.ts'

type StoredRecord = SealedRecord & { readonly _id: 'sealed' }
type StoredScrub = ScrubResult & { readonly _id: 'scrub' }
type StoredCheckpoint = KeptCheckpoint & { readonly _id: string; readonly kind: 'checkpoint' }
type TileDocument = {
  readonly _id: string
  readonly level: number
  readonly n: number
  readonly hashes?: Binary
  readonly root: Binary
  readonly position: bigint
  readonly event: string
  readonly mac: Binary
}

const ROOTS = 256

const tileId = (level: number, n: number): string => `${level}/${String(n).padStart(16, '0')}`
const checkpointId = (size: number): string => `checkpoint/${String(size).padStart(16, '0')}`
const bytesOf = (binary: Binary): Uint8Array => Uint8Array.from(binary.value())

const rootOf = ({ _id, hashes: _hashes, root, mac, ...tile }: TileDocument) => ({
  ...tile,
  root: bytesOf(root),
  mac: bytesOf(mac),
})
const documentOf = ({ hashes, root, mac, ...tile }: StoredTile): TileDocument => ({
  _id: tileId(tile.level, tile.n),
  ...tile,
  hashes: new Binary(hashes),
  root: new Binary(root),
  mac: new Binary(mac),
})

/** Tiles of the tree, in the collection `ledger_tiles`. The log can replace them. */
const mongoTiles = (db: Db, calls: Calls) => {
  const tiles = db.collection<TileDocument>('ledger_tiles')
  return {
    putTiles: async (full: readonly StoredTile[]): Promise<void> => {
      if (full.length === 0) return
      const writes = full.map(documentOf).map((replacement) => ({
        replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
      }))
      await calls.call('bulk', () => tiles.bulkWrite(writes, { ordered: false }))
    },
    tile: async (level: number, n: number): Promise<StoredTile | undefined> => {
      const found = await calls.call('read', (limits) => tiles.findOne({ _id: tileId(level, n) }, limits))
      return found ? { ...rootOf(found), hashes: bytesOf(found.hashes!) } : undefined
    },
    tileRoots: async (level: number, n: number) => {
      const range = { _id: { $gte: tileId(level, n), $lt: `${level}/:` } }
      const options = { sort: { _id: 1 }, limit: ROOTS, projection: { hashes: 0 } } as const
      const found = await calls.call('batch', (limits) => tiles.find(range, { ...options, ...limits }).toArray())
      return found.map(rootOf)
    },
    lastTile: async (level: number): Promise<number | undefined> => {
      const range = { _id: { $gte: `${level}/`, $lt: `${level}/:` } }
      const options = { sort: { _id: -1 }, projection: { n: 1 } } as const
      const found = await calls.call('read', (limits) => tiles.findOne(range, { ...options, ...limits }))
      return found?.n
    },
    dropTiles: async (): Promise<void> => void (await calls.call('bulk', () => tiles.deleteMany({}))),
  }
}

const keptOf = ({ _id, kind: _kind, ...checkpoint }: StoredCheckpoint): KeptCheckpoint => checkpoint

/** Kept checkpoints, in the collection `ledger`. */
const mongoCheckpoints = (db: Db, calls: Calls) => {
  const kept = db.collection<StoredCheckpoint>('ledger')
  /** Replaces a checkpoint, unless another instance changed it since. A text that begins with the new one remains. */
  const replacedFrom = async ({ _id, text }: StoredCheckpoint, to: StoredCheckpoint): Promise<boolean> =>
    (await kept.replaceOne({ _id, text }, text.startsWith(to.text) ? { ...to, text } : to)).matchedCount > 0
  return {
    keep: async (checkpoint: KeptCheckpoint): Promise<void> => {
      const document = { _id: checkpointId(checkpoint.size), kind: 'checkpoint', ...checkpoint } as const
      await calls.call('write', async (limits) => {
        while (!limits.signal.aborted) {
          const found = await kept.findOne({ _id: document._id }, limits)
          if (found ? await replacedFrom(found, document) : await unlessDuplicate(kept.insertOne(document))) return
        }
      })
    },
    checkpoints: async (below: number, limit: number): Promise<readonly KeptCheckpoint[]> => {
      const range = { _id: { $gte: 'checkpoint/', $lt: checkpointId(below) } }
      const found = await calls.call('batch', (limits) =>
        kept.find(range, { sort: { _id: -1 }, limit, ...limits }).toArray(),
      )
      return found.map(keptOf)
    },
    checkpoint: async (size: number): Promise<KeptCheckpoint | undefined> => {
      const found = await calls.call('read', (limits) => kept.findOne({ _id: checkpointId(size) }, limits))
      return found ? keptOf(found) : undefined
    },
    dropCheckpoints: async (sizes: readonly number[]): Promise<void> => {
      const _id = { $in: sizes.map(checkpointId) }
      await calls.call('bulk', () => kept.deleteMany({ _id, keep: false }))
    },
  }
}

/** Ledger in MongoDB: collections `ledger` (not replaceable) and `ledger_tiles`. */
export const mongoLedger = (db: Db, calls: Calls): Omit<LedgerStore, 'close'> => {
  const records = db.collection<StoredRecord>('ledger')
  const scrubs = db.collection<StoredScrub>('ledger')
  const only = { _id: 'sealed' } as const
  const tiles = mongoTiles(db, calls)
  return {
    ...tiles,
    ...mongoCheckpoints(db, calls),
    sealed: async () => {
      const found = await calls.call('read', (limits) => records.findOne(only, limits))
      if (!found) return {}
      const { _id, ...record } = found
      return { stored: sealedRecordOf(JSON.stringify(record), 'the collection ledger') }
    },
    begin: async (record) =>
      void (await calls.call('write', () => unlessDuplicate(records.insertOne({ ...only, ...record })))),
    advance: async ({ ledger, size, text }, to) => {
      const from = { ...only, ledger, size, text: text ?? { $exists: false } }
      const { matchedCount } = await calls.call('write', () => records.replaceOne(from, to))
      return matchedCount > 0
    },
    startOver: async (record) => {
      await tiles.dropTiles()
      await calls.call('bulk', () => records.deleteMany({ _id: { $ne: 'sealed' } }))
      await calls.call('write', () => records.replaceOne(only, record, { upsert: true }))
    },
    scrubbed: async () => {
      const found = await calls.call('read', (limits) => scrubs.findOne({ _id: 'scrub' }, limits))
      if (!found) return undefined
      const { _id, ...result } = found
      return result
    },
    writeScrub: async (result) =>
      void (await calls.call('write', () => scrubs.replaceOne({ _id: 'scrub' }, result, { upsert: true }))),
  }
}
