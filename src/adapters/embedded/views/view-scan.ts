import { setImmediate } from 'node:timers/promises'
import type { Closed, Query, Row, Scalar, ViewPart } from '../../../projections/views.ts'
import { type Database, pageOf, rowsOf, type Statement, type Value } from '../sqlite.ts'
import type { Raw, Shape } from '../writer/protocol.ts'
import { queryOf, ROW, valuesOf } from './view-query.ts'

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
