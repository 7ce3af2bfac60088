import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { forEachSliced, sliced } from '../../../base/event-loop.ts'
import { insistOnFiles } from '../../../base/regular-file.ts'
import { giveTo } from '../../../base/replace-file.ts'
import { schemaOf } from '../files/look.ts'
import { privateFile } from '../files/secret-file.ts'
import { ledgerOps } from '../ledger/ledger-file.ts'
import { subjectsSchema } from '../schema.ts'
import { type Database, hasTable, PAGE_ROWS, rowsOf, type Value, withDatabase } from '../sqlite.ts'

const CHUNK = 1_048_576
const OWN = 0o600
/** Opening a named pipe with these flags never waits for a writer. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK

/** Number of bytes of a file, and their SHA-256 in hex. */
type FileDigest = { readonly bytes: number; readonly sha256: string }

/**
 * Passes a file in chunks to a function. Returns the digest of the file. The read ends with the first chunk beyond `most`
 * bytes.
 */
const readChunks = async (
  path: string,
  take?: (chunk: Uint8Array) => Promise<unknown>,
  most = Infinity,
): Promise<FileDigest> => {
  insistOnFiles(path)
  const file = await open(path, READ)
  const [hash, buffer] = [createHash('sha256'), Buffer.alloc(CHUNK)]
  try {
    for (let bytes = 0; ; ) {
      const { bytesRead } = await file.read(buffer, 0, CHUNK)
      if (bytesRead === 0 || bytes > most) return { bytes, sha256: hash.digest('hex') }
      const chunk = buffer.subarray(0, bytesRead)
      hash.update(chunk)
      await take?.(chunk)
      bytes += bytesRead
    }
  } finally {
    await file.close()
  }
}

/** Reads a file and returns its digest. */
export const digestOf = (path: string): Promise<FileDigest> => readChunks(path)

/** Writes the content of a file to the disk. */
const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

const writeAll = async (file: FileHandle, chunk: Uint8Array): Promise<void> => {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten
}

/**
 * Copies a file durably to a path without a file. Only the owner can access the copy: the owner of `like`, if root makes
 * it. Returns the digest of what was copied; the copy of a file of more than `most` bytes ends with the first chunk
 * beyond them.
 */
export const copyFile = async (
  from: string,
  to: string,
  { most, like }: { readonly most?: number; readonly like?: string } = {},
): Promise<FileDigest> => {
  const file = await open(to, 'wx', OWN)
  try {
    await file.chmod(OWN)
    if (like !== undefined) giveTo(file.fd, await stat(like))
    const digest = await readChunks(from, (chunk) => writeAll(file, chunk), most)
    await file.sync()
    return digest
  } finally {
    await file.close()
  }
}

/**
 * Copies a database of one moment durably, while other processes write to it in WAL mode. Only the owner can access the
 * copy, which is complete without companion files.
 */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  await withDatabase(from, 'read', (source) => {
    // `vacuum into` writes the copy through the connection to the source.
    source.exec('pragma query_only=off')
    // SQLite accepts an existing file if it is empty, and keeps its mode.
    // A backup has keys, which the owner of its directory may be unable to read.
    privateFile(to, true)
    source.prepare('vacuum into ?').run(resolve(to))
  })
  await syncFile(to)
}

/** Writes a copy durably. It counts only when it is whole and synced, so it needs no journal on the disk. */
const writeCopy = async (path: string, write: (database: Database) => void | Promise<void>): Promise<void> => {
  await withDatabase(path, 'lock', (database) => {
    database.exec('pragma synchronous=off; pragma secure_delete=on')
    return write(database)
  })
  await syncFile(path)
}

/** Tables of subjects.sqlite with their columns. */
const TABLES = [
  ['subjects', 'subject, key'],
  ['lost_subjects', 'subject, key'],
  ['binding', 'only, event, position'],
] as const

/** Copies the rows of a table in pages. The source is locked only while a page is read. */
const copyRows = async (source: Database, target: Database, table: string, columns: string): Promise<void> => {
  const following = rowsOf(
    source,
    `select rowid, ${columns} from ${table} where rowid > ? order by rowid limit ${PAGE_ROWS}`,
  )
  const page = (after: number) => following.all(after) as [rowid: number, ...values: Value[]][]
  const insert = target.prepare(`insert into ${table} (${columns}) values (${columns.replaceAll(/\w+/g, '?')})`)
  for (let rows = page(0); rows.length > 0; rows = page(rows.at(-1)![0]))
    await forEachSliced(rows, ([, ...values]) => insert.run(...values))
}

/**
 * Copies the keys of subjects durably. The copy has each key that was there when the function was called. This file has
 * no write-ahead log, so a copy of one moment would stop its writer for as long as the copy takes.
 */
export const copySubjects = (from: string, to: string): Promise<void> =>
  withDatabase(from, 'read', (source) =>
    writeCopy(to, async (target) => {
      target.exec(subjectsSchema)
      target.exec('begin')
      for (const [table, columns] of TABLES) if (hasTable(source, table)) await copyRows(source, target, table, columns)
      target.exec('commit')
    }),
  )

/** Copies the file of a ledger. A service on the copy signs nothing, because its sealed record is marked as a copy. */
export const copyLedger = async (from: string, to: string): Promise<void> => {
  await copyDatabase(from, to)
  await writeCopy(to, (database) => {
    try {
      const { sealed, advance } = ledgerOps(database)
      const { stored } = sealed()
      if (stored) advance(stored, { ...stored, copy: true })
    } catch (error) {
      // The check of the copy reports a record that is unreadable.
      if (!(error instanceof SyntaxError)) throw error
    }
  })
}

const namesIn = (database: Database, query: string, ...values: readonly string[]): readonly string[] =>
  (rowsOf(database, query).all(...values) as [string][]).map(([name]) => name)
const TABLE_NAMES = "select name from sqlite_schema where type = 'table'"

/**
 * Reads the rows of a table one by one. The packaged driver frees a statement that nothing refers to, also while it
 * returns rows, so the statement is in use until the end.
 */
function* rowsIn(source: Database, table: string, columns: readonly string[]): Generator<readonly Value[]> {
  const statement = rowsOf(source, `select ${columns.join(', ')} from ${table}`)
  try {
    yield* statement.iterate() as Iterable<readonly Value[]>
  } finally {
    statement.setReturnArrays(true)
  }
}

/**
 * Writes the rows of a database, which no process changes, durably into a new file with the schema of this version. The
 * new file has no other content of the database. `onRows` receives the number of written rows.
 */
export const rewriteDatabase = (from: string, to: string, onRows: (rows: number) => void): Promise<void> =>
  withDatabase(from, 'read', (source) =>
    writeCopy(to, async (target) => {
      let written = 0
      target.exec(schemaOf(to))
      target.exec('begin')
      for (const table of namesIn(target, TABLE_NAMES).filter((name) => hasTable(source, name))) {
        const columns = namesIn(target, 'select name from pragma_table_info(?)', table)
        const insert = target.prepare(
          `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`,
        )
        for await (const part of sliced<readonly Value[]>([rowsIn(source, table, columns)])) {
          onRows(written)
          for (const row of part) {
            insert.run(...row)
            written++
          }
        }
      }
      target.exec('commit')
    }),
  )
