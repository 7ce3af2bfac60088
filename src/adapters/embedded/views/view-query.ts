import { setImmediate } from 'node:timers/promises'
import {
  type Closed,
  type Index,
  KEY,
  type Match,
  type Query,
  type Row,
  type Scalar,
  type ViewPart,
} from '../../../projections/views.ts'
import { type Database, pageOf, rowsOf, type Statement, type Value } from '../sqlite.ts'
import type { Raw, Shape } from '../writer/protocol.ts'

type Condition = { readonly sql: string; readonly values: readonly Value[] }

/** Columns of a row of a read model. */
export const ROW = '_key, _revision, _position, _changes, _doc, _unreadable'

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Least text above every text with this prefix, in code point order; undefined if there is none. */
export const above = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  return last === undefined ? undefined : String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

/**
 * Range condition. SQLite sorts every number below every text, so a range with one end is limited to values of that
 * end's type.
 */
const range = (column: string, from: Scalar | undefined, below: Scalar | undefined): Condition => {
  const low = from ?? (typeof below === 'string' ? '' : undefined)
  const high = below ?? (typeof from === 'number' ? '' : undefined)
  const ends = [...(low === undefined ? [] : [`${column} >= ?`]), ...(high === undefined ? [] : [`${column} < ?`])]
  const sql = ends.length === 0 ? `${column} is not null` : ends.join(' and ')
  return { sql, values: [low, high].filter((end) => end !== undefined) }
}

const condition = (column: string, match: Match): Condition => {
  if ('prefix' in match) return range(column, match.prefix, above(match.prefix))
  if (!('equals' in match)) {
    const { sql, values } = range(column, match.from, match.below)
    return { sql: match.orAbsent ? `((${sql}) or ${column} is null)` : sql, values }
  }
  const values = match.equals.filter((value) => value !== undefined)
  const among = values.length === 1 ? `${column} = ?` : `${column} in (${values.map(() => '?').join(', ')})`
  if (values.length === match.equals.length) return { sql: among, values }
  return { sql: values.length === 0 ? `${column} is null` : `(${among} or ${column} is null)`, values }
}

type Conditions = readonly (readonly [field: string, match: Match])[]

const isAbsent = (match: Match) => 'equals' in match && match.equals.every((value) => value === undefined)
const isPrefix = (match: Match) => 'prefix' in match
const isThere = (match: Match) => !('equals' in match) && !('orAbsent' in match && match.orAbsent)
const isFew = (match: Match) => 'prefix' in match || ('equals' in match && !isAbsent(match))

/** True for a range with only an upper bound, which usually matches few rows, for example expired tokens. */
const isPast = (match: Match) => 'below' in match && match.from === undefined && !match.orAbsent

/**
 * Chooses the index that a query may use, because SQLite has no statistics to choose by. The first matching index of
 * the view is used. Fields that it does not contain only filter (`+`); without a matching index, every field except the
 * order and absent fields filters.
 * `sorted`: the rows must be sorted, which is suitable for few rows only; `inOrder` requires an index that has the
 * order.
 */
const mayFind = ({ indexes }: Shape, conditions: Conditions, order: string, inOrder: boolean) => {
  const some = (field: string, holds: (match: Match) => boolean) =>
    conditions.some(([name, match]) => name === field && holds(match))
  const isRange = ({ by }: Index) => {
    const at = by.findIndex((field) => field !== order && some(field, isPast))
    return at >= 0 && by.slice(0, at).every((field) => some(field, isFew))
  }
  const isOne = (field: string) => some(field, (match) => 'equals' in match && match.equals.length === 1)
  /**
   * True if the index returns rows in order: no prefix condition before the order field; for the key, a single value
   * for every indexed field.
   */
  const has = ({ by }: Index) =>
    order === KEY
      ? by.every(isOne)
      : by.includes(order) && by.slice(0, by.indexOf(order)).every((field) => !some(field, isPrefix))
  const holds = ({ lacking, having }: Index) =>
    (!lacking || some(lacking, isAbsent)) && (!having || some(having, isThere))
  const fit = indexes.filter(
    (index) => (some(index.by[0]!, isFew) || isRange(index)) && holds(index) && (!inOrder || has(index)),
  )
  const [first] = fit
  const chosen =
    first && !isRange(first) ? (fit.find((index) => index.by[0] === first.by[0] && has(index)) ?? first) : first
  if (!chosen) return { sorted: false, finds: (field: string) => field === order || some(field, isAbsent) }
  const finds = (field: string) =>
    (field === order && has(chosen)) ||
    field === chosen.lacking ||
    some(
      field,
      (match) => chosen.by.includes(field) && (isFew(match) || isAbsent(match) || (isRange(chosen) && isPast(match))),
    )
  return { sorted: !has(chosen), finds }
}

const conditionsOf = (where: Query['where']): Conditions =>
  Object.entries(where).flatMap(([field, matches]) =>
    (Array.isArray(matches) ? (matches as readonly Match[]) : [matches as Match]).map(
      (match) => [field, match] as const,
    ),
  )

/** Statement for the distinct values of a field among the documents that match the conditions. */
const valuesOf = (shape: Shape, where: Query['where'], field: string, most: number) => {
  const conditions = conditionsOf(where)
  const { finds } = mayFind(shape, conditions, field, false)
  const column = (name: string) => `${finds(name) ? '' : '+'}${quoted(name)}`
  const parts = conditions.map(([name, match]) => condition(column(name), match))
  const all = [`${column(field)} is not null`, ...parts.map(({ sql }) => sql)].join(' and ')
  return {
    sql: `select distinct ${quoted(field)} from ${quoted(shape.table)} where ${all} limit ?`,
    values: [...parts.flatMap((one) => one.values), most],
  }
}

/**
 * Statements of a query on a table: one page of documents, and the total number of rows up to `count`. A row without a
 * document has no fields, so the index alone identifies the rows. If the rows are sorted, only those of the page are
 * read.
 */
export const queryOf = (
  shape: Shape,
  { where, order, descending = false, after, limit, count = 0 }: Query,
  inOrder = false,
) => {
  const conditions = conditionsOf(where)
  const { sorted, finds } = mayFind(shape, conditions, order, inOrder)
  const column = (field: string) => `${finds(field) ? '' : '+'}${quoted(field)}`
  const by = column(order)
  const parts = conditions.map(([field, match]) => condition(column(field), match))
  const from = `from ${quoted(shape.table)}
    where ${[`${by} is not null`, ...parts.map(({ sql }) => sql)].join(' and ')}`
  const values = parts.flatMap((one) => one.values)
  const places = order === KEY ? [by] : [by, '_key']
  const behind = after
    ? ` and (${places.join(', ')}) ${descending ? '<' : '>'} (${places.map(() => '?').join(', ')})`
    : ''
  const inTurn = `order by ${places.map((place) => (descending ? `${place} desc` : place)).join(', ')}`
  const rest = `${from}${behind} ${inTurn} limit ?`
  return {
    sorted,
    page: {
      sql: sorted
        ? `select ${ROW} from ${quoted(shape.table)} where rowid in (select rowid ${rest}) ${inTurn}`
        : `select ${ROW} ${rest}`,
      values: [...values, ...(after ? [after.value, after.key].slice(-places.length) : []), limit],
    },
    total: { sql: `select count(*) from (select 1 ${from} limit ?)`, values: [...values, count] },
  }
}

/**
 * Statement that finds, for each text of a JSON list, the document with that value of `by` and the least value of
 * `order` from a bound on.
 */
export const leastOf = (table: string, by: string, order: string): string =>
  `select (select _doc from ${quoted(table)} where ${quoted(by)} = texts.value and ${quoted(order)} >= ?
    order by ${quoted(order)}, _key limit 1) from json_each(?) texts`

/** Converts a row of a table to a row of the read model. */
export const rowOf = <D extends object>([key, revision, position, changes, doc, unreadable]: Raw): Row<D> => ({
  key,
  revision: BigInt(revision),
  position: BigInt(position),
  changes: BigInt(changes),
  doc: doc === null ? undefined : (JSON.parse(doc) as D),
  ...(unreadable !== null && { unreadable: JSON.parse(unreadable) as Closed<D> }),
})

/** Columns and condition of a scan, and the conversion of its rows. */
const partOf = <D extends object>(part: ViewPart | undefined) => {
  if (!part) return { columns: ROW, where: 'true', row: rowOf<D> }
  const { lacking, fields } = part
  const columns = [ROW.replace('_doc', 'iif(_doc is null, null, 0)'), ...fields.map((name) => `"${name}"`)].join(', ')
  const row = ([key, revision, position, changes, isThere, closed, ...values]: readonly [
    ...Raw,
    ...Value[],
  ]): Row<D> => {
    const doc: Record<string, Value> = {}
    for (const [n, name] of fields.entries()) if (values[n] !== null) doc[name] = values[n]!
    return {
      ...rowOf<D>([key, revision, position, changes, null, closed]),
      doc: isThere === null ? undefined : (doc as D),
    }
  }
  return { columns, where: `"${lacking}" is null`, row }
}

/**
 * Ends the read transaction of a connection. Closing is not enough: a statement that is not yet garbage-collected keeps
 * the connection open and would delay the close of the store.
 */
const ended = (snapshot: Database): void => {
  try {
    snapshot.exec('rollback')
  } catch {
    // After some errors SQLite has already rolled back.
  }
}

/** Rows of a table, page by page, from a snapshot taken at the first page: all columns, or only those of `part`. */
export async function* scanned<D extends object>(
  snapshot: Database,
  table: string,
  part?: ViewPart,
): AsyncGenerator<readonly Row<D>[]> {
  snapshot.exec('begin')
  try {
    const { columns, where, row } = partOf<D>(part)
    const sql = `select rowid, ${columns} from "${table}" where rowid > ? and ${where} order by rowid`
    const next = rowsOf(snapshot, sql)
    for (let [at, left] = [0, true]; left; await setImmediate()) {
      const { rows, more } = pageOf(next, at)
      left = more
      at = (rows as (readonly [number, ...Raw])[]).at(-1)?.[0] ?? at
      if (rows.length > 0) yield (rows as (readonly [number, ...Raw])[]).map(([, ...raw]) => row(raw))
    }
  } finally {
    ended(snapshot)
  }
}

/** Number of documents with the field `having`, by the value of the field `by` as text. */
export const tallied = (views: Database, table: string, having: string, by: string): ReadonlyMap<string, number> => {
  const where = `"${having}" is not null and "${by}" is not null`
  const sql = `select "${by}", count(*) from "${table}" where ${where} group by 1`
  // Numbers are converted to text here, because SQLite would print them as the driver bound them, as integers or with a
  // fraction.
  return new Map(
    (rowsOf(views, sql).all() as [string | number, number][]).map(([value, count]) => [String(value), count]),
  )
}

/** Distinct values of a field among the documents that match the conditions. */
export const valued = (
  prepare: (sql: string) => Statement,
  ...asked: Parameters<typeof valuesOf>
): readonly Scalar[] => {
  const { sql, values } = valuesOf(...asked)
  return (prepare(sql).all(...values) as [Scalar][]).map(([value]) => value)
}

/**
 * Returns one page of a query and the total number of rows. If too many rows match to sort them, the query reads them
 * over an index in the order of the list.
 */
export const listed = <D extends object>(
  prepare: (sql: string) => Statement,
  shape: Shape,
  query: Query,
): { readonly rows: readonly Row<D>[]; readonly total: number } => {
  const { after, limit, count = 0 } = query
  const { sorted, page, total } = queryOf(shape, query)
  const counted = () => (prepare(total.sql).get(...total.values) as [number])[0]
  const rowsOfPage = ({ sql, values }: typeof page) => (prepare(sql).all(...values) as Raw[]).map(rowOf<D>)
  if (sorted && count > 0) {
    const all = counted()
    return { rows: rowsOfPage(all < count ? page : queryOf(shape, query, true).page), total: all }
  }
  const rows = rowsOfPage(page)
  if (count === 0 || (!after && rows.length < limit)) return { rows, total: Math.min(rows.length, count) }
  return { rows, total: counted() }
}
