import type { Index } from '../../../projections/views.ts'
import type { Shape } from '../writer/protocol.ts'

const OWN = ['_key', '_revision', '_position', '_changes', '_doc', '_unreadable'] as const

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
export const indexName = (table: string, { by, lacking, having }: Index) =>
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
