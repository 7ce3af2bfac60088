import { LRUCache } from 'lru-cache'
import { Refusal, refuse } from '../../errors.ts'
import { insistOnFiles, NO_FILE } from '../../regular-file.ts'
import { closeToOthers, privateFile } from './files/private-file.ts'

export type Value = string | number | bigint | Uint8Array | null
export type Statement = {
  readonly run: (...values: readonly Value[]) => { readonly changes: number | bigint }
  readonly get: (...values: readonly Value[]) => unknown
  readonly all: (...values: readonly Value[]) => unknown[]
  readonly iterate: (...values: readonly Value[]) => Iterable<unknown>
  readonly setReturnArrays: (on: boolean) => void
}
/** What is used of the `DatabaseSync` API, which Node's own driver and the packaged one share. */
export type Database = {
  readonly exec: (sql: string) => void
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
}
type Driver = { readonly DatabaseSync: new (path: string, options: { readOnly: boolean; timeout: number }) => Database }

/** Node's own SQLite where it can read rows as arrays (22.16 and 24 on), else the package of the same API. */
const driver = async (): Promise<Driver> => {
  const own = process.getBuiltinModule('node:sqlite' as 'fs') as unknown as
    | (Driver & { StatementSync: { prototype: object } })
    | undefined
  if (own && 'setReturnArrays' in own.StatementSync.prototype) return own
  return await import('@photostructure/sqlite')
}

export type Mode = 'read' | 'durable' | 'rebuildable' | 'erasing' | 'lock'

/** Settings of a connection by what it is for; durability is stated, never left to how the driver was compiled. */
const settings: Readonly<Record<Mode, string>> = {
  read: 'pragma query_only=on; pragma mmap_size=1073741824',
  durable: 'pragma journal_mode=wal; pragma synchronous=full',
  rebuildable:
    'pragma journal_mode=wal; pragma synchronous=normal; pragma cache_size=-65536; pragma temp_store=memory; pragma wal_autocheckpoint=4000',
  erasing: 'pragma journal_mode=persist; pragma synchronous=full; pragma secure_delete=on',
  lock: 'pragma journal_mode=memory',
}

/** The files of a database: its own first. */
export const filesOf = (path: string): readonly string[] => [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]

/**
 * Opens a database file. All but readers create it, for its owner only; SQLite gives the files beside it the same mode.
 * Waits up to 5 s for another process that holds it.
 */
export const openDatabase = async (path: string, mode: Mode): Promise<Database> => {
  const { DatabaseSync } = await driver()
  insistOnFiles(...filesOf(path))
  if (mode !== 'read') {
    privateFile(path)
    for (const beside of filesOf(path).slice(1)) closeToOthers(beside)
  }
  const database = new DatabaseSync(path, { readOnly: mode === 'read', timeout: mode === 'lock' ? 0 : 5000 })
  database.exec(settings[mode])
  return database
}

/** A statement whose rows are arrays of its columns: twice as fast to read as objects. */
export const rowsOf = (database: Database, sql: string): Statement => {
  const statement = database.prepare(sql)
  statement.setReturnArrays(true)
  return statement
}

/** Statements that a connection keeps. */
const KEPT = 128

/** Gives statements as `rowsOf` does, and keeps those that were asked for last: to prepare one takes longer than to find a row by it. */
export const prepared = (database: Database): ((sql: string) => Statement) => {
  const kept = new LRUCache<string, Statement>({ max: KEPT })
  return (sql) => {
    const statement = kept.get(sql) ?? rowsOf(database, sql)
    kept.set(sql, statement)
    return statement
  }
}

/** Rows of a page at most. */
export const PAGE_ROWS = 1000

/** Characters of a page, beyond which no row is added. */
const PAGE_CHARACTERS = 4 * 1_048_576

/** True once this many rows with this many characters of text are a page: memory stays bounded, however large the texts are. */
export const isPage = (rows: number, characters: number, most = PAGE_CHARACTERS): boolean =>
  rows >= PAGE_ROWS || characters >= most

type PageOf = { readonly rows: unknown[]; readonly more: boolean }

/** The next page, of so many characters, of a statement whose rows are arrays, and whether there may be more behind it. Has at least one row where there is one. */
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

/** The same in pages of the usual size. */
export const pageOf = (statement: Statement, ...values: readonly Value[]): PageOf =>
  pageUpTo(PAGE_CHARACTERS, statement, ...values)

/** A file whose damage somebody wants to know of, and which errors say that it is damaged. */
export type Watched = {
  readonly file: string
  readonly isDamage: (error: unknown) => boolean
  readonly onDamage: (error: Error) => void
}

/** The refusal of a read that failed. Damage of the file is told to who watches it. */
export const refusalOf = (cause: unknown, { file, isDamage, onDamage }: Watched): Refusal => {
  if (cause instanceof Refusal) return cause
  if (!isDamage(cause)) return new Refusal('backend_unavailable', undefined, { cause })
  const damage = damaged(file, cause)
  onDamage(damage)
  return new Refusal('backend_unavailable', undefined, { cause: damage })
}

/** Runs reads of a store that is open; closed, or failing, it refuses with `backend_unavailable`. */
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

/** SQLite's own words for its codes: the packaged driver leaves the code out where a query fails that gives several rows. */
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

/** SQLITE_BUSY: another connection holds the file. */
export const isBusy = (error: unknown): boolean => code(error) === 5
/** SQLITE_FULL: nothing was written, and there may be room again later. */
export const isFull = (error: unknown): boolean =>
  code(error) === 13 || (error instanceof Error && 'code' in error && error.code === 'ENOSPC')
/** The disk, or what it holds, is at fault: CORRUPT, IOERR, CANTOPEN, NOTADB. */
export const isBroken = (error: unknown): boolean => [10, 11, 14, 26].includes(code(error) ?? 0)
const isNoFile = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === NO_FILE
/** What was read makes no sense, though SQLite gave it: not JSON, no number. */
const isSenseless = (error: unknown): boolean =>
  (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) &&
  !('code' in error && error.code === 'ERR_INVALID_ARG_TYPE')
/** The file does not hold what was written into it: CORRUPT, NOTADB, or rows that make no sense; or it is no file. */
export const isDamage = (error: unknown): boolean =>
  [11, 26].includes(code(error) ?? 0) || isSenseless(error) || isNoFile(error)
/** Tables, indexes or rows are not as this program makes them: ERROR, CONSTRAINT, MISMATCH. */
export const isMisshapen = (error: unknown): boolean => [1, 19, 20].includes(code(error) ?? 0)

export const DAMAGED = 'DAMAGED'
/** Says which file it is that is damaged. */
export const damaged = (file: string, cause: unknown): Error => {
  // What makes no sense is not quoted: it may be anything.
  const why = isSenseless(cause) || !(cause instanceof Error) ? 'a row makes no sense' : cause.message
  return Object.assign(new Error(`${file}: ${why}`), { code: DAMAGED, file })
}
/** The file that an error says is damaged. */
export const damagedFile = (error: unknown): string | undefined =>
  error instanceof Error && 'file' in error && 'code' in error && error.code === DAMAGED
    ? String(error.file)
    : undefined

/** Does what concerns a file, and says which one it is when that is damaged. */
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
