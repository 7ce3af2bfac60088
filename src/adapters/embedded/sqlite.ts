import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathToFileURL } from 'node:url'
import { LRUCache } from 'lru-cache'
import { Refusal, refuse } from '../../base/errors.ts'
import { insistOnFiles, NO_FILE } from '../../base/regular-file.ts'
import { closeToOthers, privateFile } from './files/secret-file.ts'

/** SQLite of Node.js, if this version has it. Omits the warning that Node.js prints in each thread that loads it. */
export const builtInSqlite = (): unknown => {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return process.getBuiltinModule('node:sqlite' as 'fs')
  } finally {
    process.emitWarning = emitWarning
  }
}

const isWritable = (directory: string): boolean => {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Address at which SQLite reads a database: its path, but if the directory is read-only and no process has the database
 * open, an address without locks, because SQLite could create no companion files.
 */
const readOnlyAddress = (path: string): string => {
  if (!existsSync(path) || isWritable(dirname(path))) return path
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })
  return existsSync(`${path}-shm`) || (log?.size ?? 0) > 0 ? path : `${pathToFileURL(path).href}?immutable=1`
}

export type Value = string | number | bigint | Uint8Array | null
export type Statement = {
  readonly run: (...values: readonly Value[]) => { readonly changes: number | bigint }
  readonly get: (...values: readonly Value[]) => unknown
  readonly all: (...values: readonly Value[]) => unknown[]
  readonly iterate: (...values: readonly Value[]) => Iterable<unknown>
  readonly setReturnArrays: (on: boolean) => void
}
/** The subset of the `DatabaseSync` API in use; Node's driver and the packaged driver both provide it. */
export type Database = {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
}
type Driver = { readonly DatabaseSync: new (path: string, options: Record<string, number | boolean>) => Database }

/** Node's own SQLite if it can return rows as arrays (22.16 and 24 or later), else the package with the same API. */
const driver = async (): Promise<Driver> => {
  const own = builtInSqlite() as (Driver & { StatementSync: { prototype: object } }) | undefined
  if (own && 'setReturnArrays' in own.StatementSync.prototype) return own
  return await import('@photostructure/sqlite')
}

export type Mode = 'read' | 'durable' | 'rebuildable' | 'erasing' | 'lock'

/** Size to which a write-ahead log shrinks after a long read made it grow. */
const SHRINKING = `pragma journal_size_limit=${64 * 1_048_576}`
/** The schema of a file may call no function with effects, and pages are checked when they are read. */
const HARDENED = 'pragma trusted_schema=off; pragma cell_size_check=on'
/** Pragmas by purpose. Durability is explicit, because the driver's defaults depend on its compilation. */
const settings: Readonly<Record<Mode, string>> = {
  read: 'pragma query_only=on; pragma mmap_size=1073741824',
  durable: `pragma journal_mode=wal; pragma synchronous=full; ${SHRINKING}`,
  rebuildable: `pragma journal_mode=wal; pragma synchronous=normal; pragma cache_size=-65536; pragma temp_store=memory; pragma wal_autocheckpoint=4000; ${SHRINKING}`,
  erasing: 'pragma journal_mode=persist; pragma synchronous=full; pragma secure_delete=on',
  lock: 'pragma journal_mode=memory',
}

/** Paths of the files of a database, the main file first. */
export const filesOf = (path: string): readonly string[] => [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]

/** Opens a database file. All modes but `read` create it, for its owner only. All but `lock` wait 5 s for a lock. */
export const openDatabase = async (path: string, mode: Mode): Promise<Database> => {
  const { DatabaseSync } = await driver()
  insistOnFiles(...filesOf(path))
  const readOnly = mode === 'read'
  if (!readOnly) {
    privateFile(path)
    for (const companion of filesOf(path).slice(1)) closeToOthers(companion)
  }
  const options = { readOnly, timeout: mode === 'lock' ? 0 : 5000, defensive: true }
  const database = new DatabaseSync(readOnly ? readOnlyAddress(path) : path, options)
  database.exec(`${HARDENED}; ${settings[mode]}`)
  return database
}

/** Runs work on a database file, which is open until the work ends. */
export const withDatabase = async <T>(
  path: string,
  mode: Mode,
  work: (database: Database) => T | Promise<T>,
): Promise<T> => {
  const database = await openDatabase(path, mode)
  try {
    return await work(database)
  } finally {
    database.close()
  }
}

/** Prepares a statement that returns rows as arrays, which is twice as fast as objects. */
export const rowsOf = (database: Database, sql: string): Statement => {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

/** Statement that finds a table by its name. */
export const tableQuery = (database: Database): Statement =>
  rowsOf(database, "select 1 from sqlite_schema where type = 'table' and name = ?")
/** Returns true if a database has a table of this name. */
export const hasTable = (database: Database, table: string): boolean => tableQuery(database).get(table) !== undefined

/** Maximum number of cached statements of a connection. */
const KEPT = 128

/** Prepares statements and caches them (LRU), because preparing takes longer than finding a row. */
export const prepared = (database: Database): ((sql: string) => Statement) => {
  const kept = new LRUCache<string, Statement>({ max: KEPT })
  return (sql) => {
    const statement = kept.get(sql) ?? rowsOf(database, sql)
    kept.set(sql, statement)
    return statement
  }
}

/** Maximum rows of a page. */
export const PAGE_ROWS = 1000

/** Characters of text in a page of rows. The row that reaches this number is the last of the page. */
const PAGE_CHARACTERS = 4 * 1_048_576

/** Returns true when a page is full. The limit on characters bounds memory for large texts. */
export const isPage = (rows: number, characters: number, most = PAGE_CHARACTERS): boolean =>
  rows >= PAGE_ROWS || characters >= most

type PageOf = { readonly rows: unknown[]; readonly more: boolean }

/** Next page of at most `most` characters and at least one row; `more` is true if further rows may follow. */
export const pageUpTo = (most: number, statement: Statement, ...values: readonly Value[]): PageOf => {
  const rows: unknown[] = []
  let characters = 0
  for (const row of statement.iterate(...values) as Iterable<readonly unknown[]>) {
    rows.push(row)
    for (const value of row) if (typeof value === 'string') characters += value.length
    if (isPage(rows.length, characters, most)) return { rows, more: true }
  }
  return { rows, more: false }
}

/** Next page of the usual size. */
export const pageOf = (statement: Statement, ...values: readonly Value[]): PageOf =>
  pageUpTo(PAGE_CHARACTERS, statement, ...values)

/** A file, its damage listener, and the predicate that recognizes damage in errors. */
export type Watched = {
  readonly file: string
  readonly isDamage: (error: unknown) => boolean
  readonly onDamage: (error: Error) => void
}

/** Refusal for a failed read. Reports damage of the file to its listener. */
export const refusalOf = (cause: unknown, { file, isDamage, onDamage }: Watched): Refusal => {
  if (cause instanceof Refusal) return cause
  if (!isDamage(cause)) return new Refusal('backend_unavailable', undefined, { cause })
  const damage = damaged(file, cause)
  onDamage(damage)
  return new Refusal('backend_unavailable', undefined, { cause: damage })
}

/**
 * Wraps the reads of a store, so that failures become refusals. Refuses with `backend_unavailable` if the store is
 * closed or the read fails.
 */
export const whileOpen =
  (isOpen: () => boolean, watched: Watched) =>
  <T>(read: () => T): T => {
    if (!isOpen()) refuse('backend_unavailable')
    try {
      return read()
    } catch (cause) {
      throw refusalOf(cause, watched)
    }
  }

/** Codes of SQLite's messages. The packaged driver omits the code when a query for several rows fails. */
const CODES: Readonly<Record<string, number>> = {
  'database is locked': 5,
  'disk I/O error': 10,
  'database disk image is malformed': 11,
  'database or disk is full': 13,
  'unable to open database file': 14,
  'file is not a database': 26,
}
const code = (error: unknown): number | undefined => {
  if (!(error instanceof Error)) return undefined
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : CODES[error.message]
}
const hasCode = (error: unknown, text: string): error is Error & { readonly file?: string } =>
  error instanceof Error && 'code' in error && error.code === text

/** True for SQLITE_BUSY: a different connection has locked the file. */
export const isBusy = (error: unknown): boolean => code(error) === 5
/** True for SQLITE_FULL and ENOSPC: the write changed nothing, and a later write may succeed. */
export const isFull = (error: unknown): boolean => code(error) === 13 || hasCode(error, 'ENOSPC')
/** True for errors that make a file unusable: CORRUPT, IOERR, CANTOPEN, NOTADB. */
export const isBroken = (error: unknown): boolean => [10, 11, 14, 26].includes(code(error) ?? 0)
/** A row that SQLite returned has invalid content, for example text that is not JSON. */
const isSenseless = (error: unknown): boolean =>
  (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) &&
  !hasCode(error, 'ERR_INVALID_ARG_TYPE')
/** True if a file lacks data that was written to it: CORRUPT, NOTADB, invalid rows, or a missing file. */
export const isDamage = (error: unknown): boolean =>
  [11, 26].includes(code(error) ?? 0) || isSenseless(error) || hasCode(error, NO_FILE) || hasCode(error, DAMAGED)
/** True if tables, indexes or rows differ from the schema of this program: ERROR, CONSTRAINT, MISMATCH. */
export const isMisshapen = (error: unknown): boolean => [1, 19, 20].includes(code(error) ?? 0)

export const DAMAGED = 'DAMAGED'
/** Error for content that this program did not write. The function `ofFile` adds the name of the file. */
export const damage = (why: string): Error => Object.assign(new Error(why), { code: DAMAGED })
/** Error that names the damaged file. */
export const damaged = (file: string, cause: unknown): Error => {
  if (damagedFile(cause) !== undefined) return cause as Error
  // Do not quote invalid content: it may be personal or huge.
  const why = isSenseless(cause) || !(cause instanceof Error) ? 'a row has invalid content' : cause.message
  return Object.assign(new Error(`${file}: ${why}`), { code: DAMAGED, file })
}
/** File that an error of `damaged` names. */
export const damagedFile = (error: unknown): string | undefined => (hasCode(error, DAMAGED) ? error.file : undefined)

/** Runs work on a file. Errors that indicate damage are rethrown with the name of the file. */
export const ofFile = async <T>(
  file: string,
  work: () => T | Promise<T>,
  isAtFault: (error: unknown) => boolean = () => false,
): Promise<T> => {
  try {
    return await work()
  } catch (error) {
    throw isBroken(error) || isDamage(error) || isAtFault(error) ? damaged(file, error) : error
  }
}
