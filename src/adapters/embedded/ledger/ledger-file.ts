import { existsSync } from 'node:fs'
import {
  type KeptCheckpoint,
  type LedgerStore,
  type ScrubResult,
  type SealedCopies,
  type SealedRecord,
  type StoredTile,
  sealedRecordOf,
} from '../../../ledger/ledger-store.ts'
import { insistOnSound } from '../files/look.ts'
import { insistOnSchema, ledgerSchema } from '../schema.ts'
import { type Database, rowsOf, withDatabase } from '../sqlite.ts'

type RootRow = [n: number, root: Uint8Array, position: number, event: string, mac: Uint8Array]
type KeptRow = [size: number, root: string, text: string, at: string, keep: number]

/** The kept checkpoint in a row of the file. */
const keptOf = ([size, root, text, sealedAt, keep]: KeptRow): KeptCheckpoint => ({
  size,
  root,
  text,
  sealedAt,
  keep: keep === 1,
})

type Blocking<T> = {
  readonly [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never
}
/** Operations of the ledger file, without `close`. Each write is one transaction. */
export type LedgerOps = Blocking<Omit<LedgerStore, 'close'>>

/** Operations on the tiles. */
const tileOps = (database: Database) => {
  const put = database.prepare(
    'insert or replace into tiles (level, n, root, position, event, mac, hashes) values (?, ?, ?, ?, ?, ?, ?)',
  )
  const one = rowsOf(database, 'select n, root, position, event, mac, hashes from tiles where level = ? and n = ?')
  const roots = rowsOf(
    database,
    'select n, root, position, event, mac from tiles where level = ? and n >= ? order by n limit 256',
  )
  const last = rowsOf(database, 'select max(n) from tiles where level = ?')
  const rootOf = (level: number, [n, root, position, event, mac]: RootRow) => ({
    level,
    n,
    root,
    position: BigInt(position),
    event,
    mac,
  })
  return {
    putTiles: (tiles: readonly StoredTile[]) => {
      for (const { level, n, root, position, event, mac, hashes } of tiles)
        put.run(level, n, root, Number(position), event, mac, hashes)
    },
    tile: (level: number, n: number) => {
      const row = one.get(level, n) as [...RootRow, hashes: Uint8Array] | undefined
      if (!row) return undefined
      const [number, root, position, event, mac, hashes] = row
      return { ...rootOf(level, [number, root, position, event, mac]), hashes }
    },
    tileRoots: (level: number, n: number) => (roots.all(level, n) as RootRow[]).map((row) => rootOf(level, row)),
    lastTile: (level: number) => (last.get(level) as [number | null])[0] ?? undefined,
    dropTiles: () => database.exec('delete from tiles'),
  }
}

/** The result in a row of scrubs; undefined for a damaged row, which the next scrub replaces. */
const scrubResultIn = (text: string): ScrubResult | undefined => {
  try {
    const found = JSON.parse(text) as ScrubResult | null
    return typeof found?.at === 'string' ? found : undefined
  } catch {
    return undefined
  }
}

/** Creates the tables and returns the operations. */
export const ledgerOps = (database: Database): LedgerOps => {
  database.exec(ledgerSchema)
  insistOnSchema(database, ledgerSchema)
  const record = rowsOf(database, 'select record from sealed')
  const insert = database.prepare('insert or ignore into sealed (only, record) values (1, ?)')
  const write = database.prepare('insert or replace into sealed (only, record) values (1, ?)')
  const keep = database.prepare(
    `insert into checkpoints (size, root, text, at, keep) values (?, ?, ?, ?, ?)
     on conflict (size) do update set
       text = case when substr(text, 1, length(excluded.text)) = excluded.text then text else excluded.text end,
       root = excluded.root,
       at = excluded.at,
       keep = excluded.keep`,
  )
  const columns = 'select size, root, text, at, keep from checkpoints where'
  const below = rowsOf(database, `${columns} size < ? order by size desc limit ?`)
  const ofSize = rowsOf(database, `${columns} size = ?`)
  const drop = database.prepare('delete from checkpoints where size = ? and keep = 0')
  const scrub = rowsOf(database, 'select result from scrubs')
  const writeScrub = database.prepare('insert or replace into scrubs (only, result) values (1, ?)')

  const sealed = (): SealedCopies => {
    const row = record.get() as [string] | undefined
    return row ? { stored: sealedRecordOf(row[0], 'the file') } : {}
  }
  return {
    ...tileOps(database),
    sealed,
    begin: (first) => void insert.run(JSON.stringify(first)),
    advance: (from, to) => {
      const { stored } = sealed()
      const isThat = stored?.ledger === from.ledger && stored.size === from.size && stored.text === from.text
      if (isThat) write.run(JSON.stringify(to))
      return isThat
    },
    startOver: (first) => {
      database.exec('delete from tiles; delete from checkpoints; delete from scrubs')
      write.run(JSON.stringify(first))
    },
    keep: ({ size, root, text, sealedAt, keep: always }) => void keep.run(size, root, text, sealedAt, always ? 1 : 0),
    checkpoints: (size, limit) => (below.all(size, limit) as KeptRow[]).map(keptOf),
    checkpoint: (size) => {
      const row = ofSize.get(size) as KeptRow | undefined
      return row && keptOf(row)
    },
    dropCheckpoints: (sizes) => {
      for (const size of sizes) drop.run(size)
    },
    scrubbed: () => {
      const row = scrub.get() as [string] | undefined
      return row && scrubResultIn(row[0])
    },
    writeScrub: (result) => void writeScrub.run(JSON.stringify(result)),
  }
}

/**
 * The sealed record in the file of a ledger, and its newest kept checkpoints, read-only while other processes may write
 * to the file. Without a file there are none.
 */
export const recordsIn = async (
  file: string,
  limit: number,
): Promise<{ readonly record: SealedRecord | undefined; readonly kept: readonly KeptCheckpoint[] }> => {
  if (!existsSync(file)) return { record: undefined, kept: [] }
  return withDatabase(file, 'read', (database) => {
    insistOnSound(database, file)
    const sealed = rowsOf(database, 'select record from sealed').get() as [string] | undefined
    const newest = rowsOf(database, 'select size, root, text, at, keep from checkpoints order by size desc limit ?')
    const kept = (newest.all(limit) as KeptRow[]).map(keptOf)
    return { record: sealed && sealedRecordOf(sealed[0], file), kept }
  })
}
