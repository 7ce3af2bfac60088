import { randomInt } from 'node:crypto'
import type { Clock, Timer } from '../../../base/clock.ts'
import { type Database, rowsOf, type Statement } from '../sqlite.ts'
import { columnsOf, createIndex, createKey, createTable, insertInto, quoted } from '../views/view-build.ts'
import { ROW } from '../views/view-query.ts'
import type { Failure, FlatRows, Raw, Request, Shape } from './protocol.ts'

const EMPTY = 0

/**
 * Hash table that numbers keys from 1 and finds the number of a key. A slot takes eight bytes; at most three quarters
 * of the slots are in use. The table stores a hash per key and fetches the key itself with `keyOf` only when hashes are
 * equal.
 */
export const keyPlaces = (keyOf: (number: number) => string) => {
  const seed = randomInt(2 ** 32)
  let numbers = new Uint32Array(1024)
  let hashes = new Uint32Array(1024)
  let size = 0

  const hashOf = (key: string): number => {
    let hash = seed
    for (let n = 0; n < key.length; n++) hash = Math.imul(hash ^ key.charCodeAt(n), 0x0100_0193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x9e37_79b1)
    return (hash ^ (hash >>> 13)) >>> 0
  }
  const after = (place: number): number => (place + 1) & (numbers.length - 1)
  const free = (hash: number): number => {
    let place = hash & (numbers.length - 1)
    while (numbers[place] !== EMPTY) place = after(place)
    return place
  }
  const put = (number: number, hash: number): void => {
    const place = free(hash)
    numbers[place] = number
    hashes[place] = hash
  }
  const grow = (): void => {
    const [before, their] = [numbers, hashes]
    numbers = new Uint32Array(before.length * 2)
    hashes = new Uint32Array(before.length * 2)
    for (const [place, number] of before.entries()) if (number !== EMPTY) put(number, their[place]!)
  }
  const find = (key: string, hash = hashOf(key)): number | undefined => {
    for (let place = hash & (numbers.length - 1); numbers[place] !== EMPTY; place = after(place))
      if (hashes[place] === hash && keyOf(numbers[place]!) === key) return numbers[place]
    return undefined
  }

  return {
    find: (key: string): number | undefined => find(key),
    /** Number of a key; assigns the next number to a new key. */
    take: (key: string): number => {
      const hash = hashOf(key)
      const found = find(key, hash)
      if (found !== undefined) return found
      if ((size + 1) * 4 > numbers.length * 3) grow()
      put(++size, hash)
      return size
    },
    size: (): number => size,
  }
}

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

const RETRY_MS = 250

/**
 * Retries view rows for which the disk had no space, in order. Other view writes are refused until then, so no
 * checkpoint gets ahead of the rows. Returns the function that writes a group; `commit` replies to the group or returns
 * the failure.
 */
export const stuckRows = (
  clock: Clock,
  commit: (group: readonly Request[]) => Failure | undefined,
  refuse: (others: readonly Request[], failure: Failure) => void,
): ((more: readonly Request[]) => void) => {
  let stuck: readonly Request[] = []
  let retrying: Timer | undefined

  const write = (more: readonly Request[]): void => {
    const group = [...stuck, ...more]
    if (group.length === 0) return
    const failure = commit(group)
    stuck = failure ? group.filter(([, op]) => op === 'put') : []
    if (!failure) return
    refuse(
      group.filter(([, op]) => op !== 'put'),
      failure,
    )
    if (stuck.length > 0) retrying ??= clock.after(RETRY_MS, retry).unref()
  }
  const retry = () => {
    retrying = undefined
    write([])
  }
  return write
}
