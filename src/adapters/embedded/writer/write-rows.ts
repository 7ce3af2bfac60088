import { keyPlaces } from '../files/key-places.ts'
import { type Database, rowsOf, type Statement } from '../sqlite.ts'
import { ROW } from '../views/view-query.ts'
import { columnsOf, createIndex, createKey, createTable, insertInto, quoted } from '../views/view-schema.ts'
import type { FlatRows, Raw, Shape } from './protocol.ts'

/** Number of rows in one insert statement. */
const AT_ONCE = 10
/** Maximum rows that are located by a hash table in memory (64 MiB). A larger table gets its key index in the file. */
const MOST_PLACED = 6_291_456

/** Finds the rows of a table that has no key index yet: maps each key to its row number. */
const keyless = (database: Database, table: string) => {
  const at = rowsOf(database, `select _key from ${quoted(table)} where rowid = ?`)
  /** Keys of the rows about to be written, which follow the existing rows. */
  let pending: string[] = []
  let written = 0
  const places = keyPlaces((number) =>
    number > written ? pending[number - written - 1]! : (at.get(number) as readonly [string])[0],
  )
  return {
    find: places.find,
    size: places.size,
    /** Rows with their row numbers as first value. */
    numbered: (rows: FlatRows, width: number): FlatRows => {
      written = places.size()
      pending = []
      const values: FlatRows[number][] = []
      for (let n = 0; n < rows.length; n += width) {
        const key = rows[n] as string
        const number = places.take(key)
        if (number > written + pending.length) pending.push(key)
        values.push(number)
        for (let column = n; column < n + width; column++) values.push(rows[column]!)
      }
      written = places.size()
      return values
    },
  }
}

type Statements = { readonly one: Statement; readonly many: Statement; readonly get: Statement; readonly width: number }

/**
 * Writes rows into tables and finds rows of a table that a rebuild fills. A table under construction gets its key index
 * on completion, because inserting keys in random order rewrites index pages. Until the table is complete, a hash table
 * in memory locates its rows. The table of a view is created on its first write.
 */
export const rowWriter = (database: Database, isThere: (table: string) => boolean, most = MOST_PLACED) => {
  const prepared = new Map<string, Statements>()
  const placed = new Map<string, ReturnType<typeof keyless>>()

  const make = (table: string, view: Shape) => {
    database.exec(createTable(table, view))
    database.exec(createKey(table))
    for (const index of view.indexes) database.exec(createIndex(table, index))
  }
  const key = (table: string) => {
    placed.delete(table)
    prepared.delete(table)
    database.exec(createKey(table))
  }
  const statementsOf = (table: string, view: Shape): Statements => {
    const known = prepared.get(table)
    if (known) return known
    const by = placed.has(table) ? 'rowid' : '_key'
    if (table !== view.table && by === '_key') database.exec(createKey(table))
    if (table === view.table && !isThere(table)) make(table, view)
    const insert = (rows: number) => database.prepare(insertInto(table, view, rows, by))
    const get = rowsOf(database, `select ${ROW} from ${quoted(table)} where ${by} = ?`)
    const statements = { one: insert(1), many: insert(AT_ONCE), get, width: columnsOf(view).length }
    prepared.set(table, statements)
    return statements
  }

  return {
    /** Creates an empty table for a rebuild of a view. */
    begin: (table: string, view: Shape): void => {
      database.exec(createTable(table, view))
      placed.set(table, keyless(database, table))
    },
    write: (table: string, view: Shape, rows: FlatRows): void => {
      const { width } = statementsOf(table, view)
      if ((placed.get(table)?.size() ?? 0) + rows.length / width > most) key(table)
      const { one, many } = statementsOf(table, view)
      const places = placed.get(table)
      const values = places ? places.numbered(rows, width) : rows
      const each = width + (places ? 1 : 0)
      for (let n = 0; n < values.length; ) {
        const step = n + AT_ONCE * each <= values.length ? AT_ONCE * each : each
        ;(step === each ? one : many).run(...values.slice(n, n + step))
        n += step
      }
    },
    /** Existing rows of the given keys. */
    find: (table: string, view: Shape, keys: readonly string[]): readonly Raw[] => {
      const { get } = statementsOf(table, view)
      const places = placed.get(table)
      const rows: Raw[] = []
      for (const each of keys) {
        const place = places ? places.find(each) : each
        const row = place === undefined ? undefined : (get.get(place) as Raw | undefined)
        if (row) rows.push(row)
      }
      return rows
    },
    /** Creates the key index of a table. */
    key,
    /** Removes the row numbers of a table from memory. */
    leave: (table: string): void => {
      placed.delete(table)
      prepared.delete(table)
    },
    /** Discards prepared statements, because tables are about to be renamed. */
    reset: (): void => prepared.clear(),
    /** Discards all state in memory after a rollback. The next write examines the tables again. */
    undo: (): void => {
      prepared.clear()
      placed.clear()
    },
  }
}
