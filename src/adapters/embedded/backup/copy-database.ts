import { resolve } from 'node:path'
import { timeSlicer } from '../../../base/event-loop.ts'
import { privateFile } from '../files/private-file.ts'
import { ledgerOps } from '../ledger/ledger-file.ts'
import { subjectsSchema } from '../schema.ts'
import { type Database, openDatabase, PAGE_ROWS, rowsOf, type Value } from '../sqlite.ts'
import { syncFile } from './copy-file.ts'

/**
 * Copies a database of one moment durably, while other processes write to it in WAL mode. Only the owner can access the
 * copy, which is complete without companion files.
 */
export const copyDatabase = async (from: string, to: string): Promise<void> => {
  const source = await openDatabase(from, 'read')
  try {
    // `vacuum into` writes the copy through the connection to the source.
    source.exec('pragma query_only=off')
    // SQLite accepts an existing file if it is empty, and keeps its mode.
    // A backup has keys, which the owner of its directory may be unable to read.
    privateFile(to, true)
    source.prepare('vacuum into ?').run(resolve(to))
  } finally {
    source.close()
  }
  await syncFile(to)
}

/** Opens a copy for writing. It counts only when it is whole and synced, so it needs no journal on the disk. */
export const openCopy = async (path: string): Promise<Database> => {
  const database = await openDatabase(path, 'lock')
  database.exec('pragma synchronous=off; pragma secure_delete=on')
  return database
}

/** Tables of subjects.sqlite with their columns. */
const TABLES = [
  ['subjects', 'subject, key'],
  ['lost_subjects', 'subject, key'],
  ['binding', 'only, event, position'],
] as const

const hasTable = (database: Database, table: string): boolean =>
  rowsOf(database, "select 1 from sqlite_schema where type = 'table' and name = ?").get(table) !== undefined

/** Copies the rows of a table in pages. The source is locked only while a page is read. */
const copyRows = async (source: Database, target: Database, table: string, columns: string): Promise<void> => {
  const page = rowsOf(
    source,
    `select rowid, ${columns} from ${table} where rowid > ? order by rowid limit ${PAGE_ROWS}`,
  )
  const insert = target.prepare(`insert into ${table} (${columns}) values (${columns.replaceAll(/\w+/g, '?')})`)
  const pause = timeSlicer()
  for (let after = 0; ; ) {
    const rows = page.all(after) as [rowid: number, ...values: Value[]][]
    for (const [, ...values] of rows) insert.run(...values)
    const last = rows.at(-1)
    if (!last) return
    after = last[0]
    const paused = pause()
    if (paused) await paused
  }
}

/**
 * Copies the keys of subjects durably. The copy has each key that was there when the function was called. This file has
 * no write-ahead log, so a copy of one moment would stop its writer for as long as the copy takes.
 */
export const copySubjects = async (from: string, to: string): Promise<void> => {
  const source = await openDatabase(from, 'read')
  try {
    const target = await openCopy(to)
    try {
      target.exec(subjectsSchema)
      target.exec('begin')
      for (const [table, columns] of TABLES) if (hasTable(source, table)) await copyRows(source, target, table, columns)
      target.exec('commit')
    } finally {
      target.close()
    }
  } finally {
    source.close()
  }
  await syncFile(to)
}

/** Copies the file of a ledger. A service on the copy signs nothing, because its sealed record is marked as a copy. */
export const copyLedger = async (from: string, to: string): Promise<void> => {
  await copyDatabase(from, to)
  const database = await openCopy(to)
  try {
    const { sealed, advance } = ledgerOps(database)
    const { stored } = sealed()
    if (stored) advance(stored, { ...stored, copy: true })
  } catch (error) {
    // The check of the copy reports a record that is unreadable.
    if (!(error instanceof SyntaxError)) throw error
  } finally {
    database.close()
  }
  await syncFile(to)
}
