import type { Clock } from '../../../base/clock.ts'
import type { Checkpoint, Index, Row, Scalar, View, Views } from '../../../projections/views.ts'
import { type Database, isPage, rowsOf, type Value } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { FlatCheckpoint, FlatRows, Shape } from '../writer/protocol.ts'
import { ROW, rowOf } from './view-query.ts'

const OWN = ROW.split(', ')

/** Index of the position in a row's values. */
export const POSITION = OWN.indexOf('_position')

export const quoted = (name: string) => `"${name}"`
export const columnsOf = (view: Shape) => [...OWN, ...view.fields]
const list = (names: readonly string[], form: (name: string) => string) => names.map(form).join(', ')

export const createTable = (table: string, { fields }: Pick<Shape, 'fields'>) =>
  `create table ${quoted(table)} (_key text not null, _revision integer not null, _position integer not null, _changes integer not null,
   _doc text, _unreadable text${fields.map((field) => `, ${quoted(field)} any`).join('')}) strict`

export const createKey = (table: string) =>
  `create unique index if not exists ${quoted(`${table}_key`)} on ${quoted(table)} (_key)`

/** Name of an index of a read-model table. */
const indexName = (table: string, { by, lacking, having }: Index) =>
  [table, 'by', ...by, ...(lacking ? ['no', lacking] : []), ...(having ? ['with', having] : [])].join('_')

/**
 * Creates a partial index, because most fields are absent in most documents. The index includes the field that must be
 * absent; otherwise SQLite would read the row.
 */
export const createIndex = (table: string, index: Index) => {
  const { by, lacking, having, also } = index
  const columns = [...by, '_key', ...(also ?? []), ...(lacking ? [lacking] : [])]
  const where = [
    ...[by[0]!, ...(having ? [having] : [])].map((field) => `${quoted(field)} is not null`),
    ...(lacking ? [`${quoted(lacking)} is null`] : []),
  ]
  return `create index if not exists ${quoted(indexName(table, index))} on ${quoted(table)} (${list(columns, quoted)})
   where ${where.join(' and ')}`
}

const NAME = /^[\w~]+$/
const KEY_INDEX = /^CREATE UNIQUE INDEX "[\w~]+" on "[\w~]+" \(_key\)$/
const FIELD_INDEX =
  /^CREATE INDEX "[\w~]+" on "[\w~]+" \("\w+"(?:, "\w+")*\)\n {3}where "\w+" is (?:not )?null(?: and "\w+" is (?:not )?null)*$/

/**
 * True for a table or an index that `createTable`, `createKey` or `createIndex` of some version has made. Such an object
 * has no expressions.
 */
export const isOfView = (type: string, name: string, _table: string, sql: string | null): boolean => {
  if (sql === null || !NAME.test(name)) return false
  if (type === 'index') return KEY_INDEX.test(sql) || FIELD_INDEX.test(sql)
  const fields = Array.from(sql.matchAll(/, "(\w+)" any/g), ([, field]) => field!)
  return type === 'table' && sql === createTable(name, { fields }).replace('create table', 'CREATE TABLE')
}

/** Upserts rows unless the table has a later revision of the key. With `rowid`, each row starts with its row number. */
export const insertInto = (table: string, view: Shape, rows: number, by: '_key' | 'rowid') => {
  const columns = [...(by === 'rowid' ? [by] : []), ...columnsOf(view)]
  const placeholders = `(${list(columns, () => '?')})`
  return `insert into ${quoted(table)} (${list(columns, quoted)}) values ${Array.from({ length: rows }, () => placeholders).join(', ')}
   on conflict (${by}) do update set ${list(columnsOf(view), (name) => `${quoted(name)} = excluded.${quoted(name)}`)}
   where excluded._revision > _revision
   or (excluded._revision = _revision and excluded._unreadable is null and _unreadable is not null)`
}

/** Maximum number of pages of a rebuild that wait for the writer thread at once. */
const PAGES_AHEAD = 4

/** Table and columns of a view. */
export const shapeOf = ({ name, version, fields, indexes }: View): Shape => ({
  table: `${name}_${version}`,
  fields,
  indexes,
})

/** Checkpoint in the format of the writer thread. */
export const flatCheckpoint = ({ position, event, log, events, rows, changes }: Checkpoint): FlatCheckpoint => [
  Number(position),
  event,
  log,
  events,
  rows,
  changes,
]
export const checkpointOf = ([position, event, log, events, rows, changes]: FlatCheckpoint): Checkpoint => ({
  position: BigInt(position),
  event,
  log,
  events,
  rows,
  changes,
})

/** Appends the values of a row to a list; returns the number of characters of its document. */
const add = (
  values: Value[],
  { fields: searched }: Shape,
  { key, revision, position, changes, doc, unreadable }: Row,
): number => {
  const text = doc === undefined ? null : JSON.stringify(doc)
  const closed = unreadable === undefined ? null : JSON.stringify(unreadable)
  values.push(key, Number(revision), Number(position), Number(changes), text, closed)
  const fields = doc as Readonly<Record<string, Scalar | undefined>> | undefined
  for (const field of searched) values.push(fields?.[field] ?? null)
  return (text ?? closed ?? '').length
}

/** Rows in the format of the writer thread: one list of values. */
export const flat = (shape: Shape, rows: readonly Row[]): FlatRows => {
  const values: Value[] = []
  for (const row of rows) add(values, shape, row)
  return values
}

/** The same rows in pages, each created on demand, because the texts of all rows may exceed the memory. */
function* pagesOf(shape: Shape, rows: readonly Row[]): Generator<FlatRows> {
  let [values, count, characters]: [Value[], number, number] = [[], 0, 0]
  for (const row of rows) {
    characters += add(values, shape, row)
    if (!isPage(++count, characters)) continue
    yield values
    ;[values, count, characters] = [[], 0, 0]
  }
  if (count > 0) yield values
}

/** Builds read models while the present ones stay in use, and creates their secondary indexes afterwards. */
export const viewBuilder = (channel: Channel, views: Database, clock: Clock, isOpen: () => boolean) => {
  const indexed = rowsOf(views, "select 1 from sqlite_schema where type = 'index' and name = ?")
  let indexing: Promise<void> = Promise.resolve()
  let builds = 0

  /** Creates the secondary indexes in the background, one at a time, so that an append waits for at most one. */
  const indexSoon = ({ table, indexes }: Shape) => {
    const make = async (index: Index) => {
      if (isOpen() && !indexed.get(indexName(table, index))) await channel.call('buildIndex', table, index)
    }
    indexing = indexing.then(async () => {
      for (const index of indexes) await make(index).catch(() => undefined)
    })
  }

  const build: Views['build'] = async (view) => {
    const shape = shapeOf(view)
    const fresh = `${shape.table}~${clock.now().getTime().toString(36)}_${++builds}`
    const { staging, checkpoint } = await channel.call('build', shape, fresh)
    const underWay: Promise<void>[] = []
    const written = async (left: number) => {
      while (underWay.length > left) await underWay.shift()
    }
    return {
      checkpoint: checkpoint && checkpointOf(checkpoint),
      getMany: async <D extends object>(keys: readonly string[]) =>
        (await channel.call('buildGet', shape, staging, keys)).map(rowOf<D>),
      put: async (rows) => {
        for (const page of pagesOf(shape, rows)) {
          await written(PAGES_AHEAD - 1)
          const call = channel.call('buildPut', shape, staging, page)
          call.catch(() => undefined)
          underWay.push(call)
        }
      },
      mark: async (to) => {
        await written(0)
        await channel.call('buildMark', staging, flatCheckpoint(to))
      },
      swap: async (to) => {
        await written(0)
        await channel.call('buildSwap', shape, staging, flatCheckpoint(to))
        indexSoon(shape)
      },
      leave: async () => channel.call('buildLeave', staging),
      discard: async () => channel.call('buildDiscard', staging),
    }
  }

  return { build, indexSoon, indexing: () => indexing }
}
