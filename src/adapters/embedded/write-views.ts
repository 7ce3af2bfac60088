import type { Calls, FlatRows, Shape } from './protocol.ts'
import { viewsSchema } from './schema.ts'
import { type Database, rowsOf, type Statement } from './sqlite.ts'

/** Rows that one statement writes where there are as many. */
const AT_ONCE = 10
const OWN = ['_key', '_revision', '_position', '_changes', '_doc'] as const

const quoted = (name: string) => `"${name}"`
const columns = (view: Shape) => [...OWN, ...view.indexes]
const list = (names: readonly string[], form: (name: string) => string) => names.map(form).join(', ')

const createTable = (table: string, { indexes }: Shape) =>
  `create table ${quoted(table)} (_key text not null, _revision integer not null, _position integer not null, _changes integer not null,
   _doc text${indexes.map((index) => `, ${quoted(index)} any`).join('')}) strict`

const createKey = (table: string) => `create unique index ${quoted(`${table}_key`)} on ${quoted(table)} (_key)`

/** Partial, because most fields are absent in most documents. */
const createIndex = (table: string, field: string) =>
  `create index if not exists ${quoted(`${table}_by_${field}`)} on ${quoted(table)} (${quoted(field)}) where ${quoted(field)} is not null`

const insertInto = (table: string, view: Shape, rows: number) => {
  const one = `(${list(columns(view), () => '?')})`
  return `insert into ${quoted(table)} (${list(columns(view), quoted)}) values ${Array.from({ length: rows }, () => one).join(', ')}`
}

const guarded = (view: Shape) =>
  ` on conflict (_key) do update set ${list(columns(view), (name) => `${quoted(name)} = excluded.${quoted(name)}`)}
   where excluded._revision > _revision`

/** Keeps of each key the latest row. */
const dedupe = (table: string) =>
  `delete from ${quoted(table)} where rowid in (select rowid from (select rowid,
   row_number() over (partition by _key order by _revision desc) as n from ${quoted(table)}) where n > 1)`

type Insert = { readonly one: Statement; readonly many: Statement; readonly width: number }

/** Writes rows into tables, by statements that it keeps until `reset`. A view's own table is made when it is first written. */
const rowInserts = (database: Database, isThere: (table: string) => boolean) => {
  const keyed = rowsOf(
    database,
    "select 1 from sqlite_schema where type = 'index' and tbl_name = ? and name glob '*_key'",
  )
  const inserts = new Map<string, Insert>()

  const insertOf = (table: string, view: Shape): Insert => {
    let insert = inserts.get(table)
    if (!insert) {
      if (table === view.table && !isThere(table)) {
        database.exec(createTable(table, view))
        database.exec(createKey(table))
        for (const index of view.indexes) database.exec(createIndex(table, index))
      }
      const [guard, width] = [keyed.get(table) ? guarded(view) : '', columns(view).length]
      const [one, many] = [1, AT_ONCE].map((rows) => database.prepare(insertInto(table, view, rows) + guard)) as [
        Statement,
        Statement,
      ]
      insert = { one, many, width }
      inserts.set(table, insert)
    }
    return insert
  }

  return {
    write: (table: string, view: Shape, rows: FlatRows): void => {
      const { one, many, width } = insertOf(table, view)
      for (let n = 0; n < rows.length; ) {
        const step = n + AT_ONCE * width <= rows.length ? AT_ONCE * width : width
        ;(step === width ? one : many).run(...rows.slice(n, n + step))
        n += step
      }
    },
    reset: (): void => inserts.clear(),
  }
}

/**
 * The writer's half of the views, inside a transaction that need not be synced. A view under construction is a table `tokens_1~…` that
 * takes rows without looking until it gets its key; rows put live while it is built go into it too, so the swap loses none of them.
 */
export const viewsWriter = (database: Database) => {
  // Checkpoints of an older form say less than they must: those views are built anew.
  const columns = rowsOf(database, "select name from pragma_table_info('views')").all() as [string][]
  if (columns.length > 0 && !columns.some(([name]) => name === 'log')) database.exec('drop table views')
  database.exec(viewsSchema)
  const tables = rowsOf(database, "select name from sqlite_schema where type = 'table' and name glob ?")
  const firstMark = database.prepare(
    'insert or ignore into views (name, position, event, log, events, rows) values (?, ?, ?, ?, ?, ?)',
  )
  const moveMark = database.prepare(
    'update views set position = ?, event = ?, log = ?, events = ?, rows = ? where name = ? and position = ?',
  )
  const setMark = database.prepare(
    'insert or replace into views (name, position, event, log, events, rows) values (?, ?, ?, ?, ?, ?)',
  )
  const dropMark = database.prepare('delete from views where name = ?')
  const named = (pattern: string) => (tables.all(pattern) as [string][]).map(([name]) => name)
  const drop = (table: string) => database.exec(`drop table if exists ${quoted(table)}`)
  for (const unfinished of named('*~*')) drop(unfinished)

  const inserts = rowInserts(database, (table) => named(table).length > 0)
  const stagings = new Map<string, readonly string[]>()
  const reset = () => {
    inserts.reset()
    stagings.clear()
  }

  const stagingsOf = ({ table }: Shape): readonly string[] => {
    const known = stagings.get(table) ?? named(`${table}~*`)
    stagings.set(table, known)
    return known
  }

  const ops: Pick<
    Calls,
    'put' | 'mark' | 'build' | 'buildPut' | 'buildKey' | 'buildIndex' | 'buildSwap' | 'buildDiscard'
  > = {
    put: (view, rows) => {
      for (const table of [view.table, ...stagingsOf(view)]) inserts.write(table, view, rows)
    },
    mark: ({ table }, from, to) =>
      Number((from === null ? firstMark.run(table, ...to) : moveMark.run(...to, table, from)).changes) > 0,
    build: (view, staging) => {
      database.exec(createTable(staging, view))
      reset()
    },
    buildPut: (view, staging, rows) => inserts.write(staging, view, rows),
    buildKey: (staging) => {
      reset()
      try {
        database.exec(createKey(staging))
      } catch {
        database.exec(dedupe(staging))
        database.exec(createKey(staging))
      }
    },
    buildIndex: (table, index) => {
      reset()
      database.exec(createIndex(table, index))
    },
    buildSwap: ({ table }, staging, to) => {
      reset()
      const name = table.replace(/\d+$/, '')
      for (const old of named(`${name}[0-9]*`).filter((other) => /^\d+$/.test(other.slice(name.length)))) {
        drop(old)
        dropMark.run(old)
      }
      database.exec(`alter table ${quoted(staging)} rename to ${quoted(table)}`)
      setMark.run(table, ...to)
    },
    buildDiscard: (staging) => {
      reset()
      drop(staging)
    },
  }
  return { ops, reset }
}
