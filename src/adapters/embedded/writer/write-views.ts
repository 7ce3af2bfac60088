import { insistOnSchema, viewsSchema } from '../schema.ts'
import { type Database, rowsOf } from '../sqlite.ts'
import { columnsOf, createIndex, isOfView, POSITION, quoted } from '../views/view-build.ts'
import type { Calls, FlatCheckpoint, FlatRows, Op, Shape } from './protocol.ts'
import { rowWriter } from './write-rows.ts'

/** Highest log position of these rows. */
const newestOf = (rows: FlatRows, width: number): number => {
  let newest = 0
  for (let n = POSITION; n < rows.length; n += width) newest = Math.max(newest, Number(rows[n]))
  return newest
}

/** Checkpoints of views in use and of views that a rebuild fills. */
const checkpointMarks = (database: Database) => {
  // Checkpoints of an older schema lack columns; those views are rebuilt.
  const columns = rowsOf(database, "select name from pragma_table_info('views')").all() as [string][]
  if (columns.length > 0 && !columns.some(([name]) => name === 'changes')) database.exec('drop table views')
  database.exec(viewsSchema)
  insistOnSchema(database, viewsSchema, isOfView)
  const find = rowsOf(database, 'select position, event, log, events, rows, changes from views where name = ?')
  const first = database.prepare(
    'insert or ignore into views (name, position, event, log, events, rows, changes, newest) values (?, ?, ?, ?, ?, ?, ?, 0)',
  )
  const move = database.prepare(
    'update views set position = ?, event = ?, log = ?, events = ?, rows = ?, changes = ? where name = ? and position = ?',
  )
  const set = database.prepare(
    'insert or replace into views (name, position, event, log, events, rows, changes, newest) values (?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const raise = database.prepare('update views set newest = ? where name = ? and newest < ?')
  const drop = database.prepare('delete from views where name = ?')
  /**
   * For each table that a rebuild fills, the position of the newest row written to the view in use during the rebuild.
   */
  const newestOfBuild = new Map<string, number>()
  const of = (table: string) => find.get(table) as FlatCheckpoint | undefined
  /** Records the newest row written to the view in use, also for tables that a rebuild fills. */
  const rise = (table: string, stagings: readonly string[], newest: number) => {
    raise.run(newest, table, newest)
    for (const staging of stagings) newestOfBuild.set(staging, Math.max(newest, newestOfBuild.get(staging) ?? 0))
  }
  const swap = (table: string, staging: string, to: FlatCheckpoint) => {
    drop.run(staging)
    set.run(table, ...to, Math.max(to[0], newestOfBuild.get(staging) ?? 0))
    newestOfBuild.delete(staging)
  }
  return { of, first, move, set, rise, swap, drop }
}

/** Finds the names of tables by a glob pattern. */
const tableFinder = (database: Database) => {
  const tables = rowsOf(database, "select name from sqlite_schema where type = 'table' and name glob ?")
  return (pattern: string): readonly string[] => (tables.all(pattern) as [string][]).map(([name]) => name)
}

/** Tables of all versions of a view, in use or filled by a rebuild. */
const versionsOf = (table: string, named: ReturnType<typeof tableFinder>): readonly string[] => {
  const name = table.replace(/\d+$/, '')
  return named(`${name}[0-9]*`).filter((other) => /^\d+(~.*)?$/.test(other.slice(name.length)))
}

type ViewOps = Pick<Calls, 'put' | 'mark' | Extract<Op, `build${string}`>>

/**
 * Part of the writer thread that writes the views, in transactions without sync. A view under construction is a table
 * `tokens_1~…` with its own checkpoint. Live rows are also written to it, so the swap loses none. An unfinished table
 * is continued by the next build, or dropped when the live view moves its checkpoint.
 */
export const viewsWriter = (database: Database) => {
  const marks = checkpointMarks(database)
  const named = tableFinder(database)
  const drop = (table: string) => {
    database.exec(`drop table if exists ${quoted(table)}`)
    marks.drop.run(table)
  }
  for (const unfinished of named('*~*')) if (!marks.of(unfinished)) drop(unfinished)

  const rows = rowWriter(database, (table) => named(table).length > 0)
  /** Tables that this process rebuilds, and the existing ones of these for each view. */
  const tended = new Set<string>()
  const stagings = new Map<string, readonly string[]>()
  /** Views whose abandoned tables have been deleted. */
  const settled = new Set<string>()
  const reset = () => {
    rows.reset()
    stagings.clear()
    settled.clear()
  }
  const untend = (staging: string) => {
    reset()
    tended.delete(staging)
    rows.leave(staging)
  }

  const stagingsOf = ({ table }: Shape): readonly string[] => {
    const known = stagings.get(table) ?? named(`${table}~*`).filter((staging) => tended.has(staging))
    stagings.set(table, known)
    return known
  }
  const left = (table: string) => named(`${table}~*`).filter((staging) => !tended.has(staging))
  /** Drops the abandoned tables of a view. */
  const settle = (table: string) => {
    if (settled.has(table)) return
    settled.add(table)
    for (const staging of left(table)) drop(staging)
  }

  const ops: ViewOps = {
    put: (view, values) => {
      for (const table of [view.table, ...stagingsOf(view)]) rows.write(table, view, values)
      marks.rise(view.table, stagingsOf(view), newestOf(values, columnsOf(view).length))
    },
    mark: ({ table }, from, to) => {
      settle(table)
      return Number((from === null ? marks.first.run(table, ...to) : marks.move.run(...to, table, from)).changes) > 0
    },
    build: (view, fresh) => {
      reset()
      const [found] = left(view.table)
      const staging = found ?? fresh
      tended.add(staging)
      if (found === undefined) rows.begin(fresh, view)
      const checkpoint = marks.of(staging)
      return { staging, ...(checkpoint && { checkpoint }) }
    },
    buildPut: (view, staging, values) => rows.write(staging, view, values),
    buildGet: (view, staging, keys) => rows.find(staging, view, keys),
    buildMark: (staging, to) => void marks.set.run(staging, ...to, to[0]),
    buildLeave: (staging) => untend(staging),
    buildIndex: (table, index) => {
      reset()
      database.exec(createIndex(table, index))
    },
    buildSwap: ({ table }, staging, to) => {
      reset()
      for (const old of versionsOf(table, named)) if (old !== staging && !tended.has(old)) drop(old)
      tended.delete(staging)
      rows.key(staging)
      database.exec(`alter table ${quoted(staging)} rename to ${quoted(table)}`)
      marks.swap(table, staging, to)
    },
    buildDiscard: (staging) => {
      untend(staging)
      drop(staging)
    },
  }
  return { ops, undo: () => (reset(), rows.undo()) }
}
