import type { Match, Query, Scalar } from '../../projections/views.ts'
import type { Value } from './sqlite.ts'

type Condition = { readonly sql: string; readonly values: readonly Value[] }

/** The columns of a row. */
export const ROW = '_key, _revision, _position, _changes, _doc, _unreadable'

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** The least text above every text with this prefix, in code point order; undefined when there is none. */
export const above = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0)!)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  return last === undefined ? undefined : String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}

/** SQLite sorts every number below every text; a range with one end stays among values of that end's kind. */
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
  const among = `${column} in (${values.map(() => '?').join(', ')})`
  return { sql: values.length < match.equals.length ? `(${among} or ${column} is null)` : among, values }
}

/** The statements of a query on a table: one page of documents, and how many there are over all pages. */
export const queryOf = (table: string, { where, order, after, limit }: Query) => {
  const by = quoted(order)
  const conditions = Object.entries(where).flatMap(([field, matches]) =>
    (Array.isArray(matches) ? (matches as readonly Match[]) : [matches as Match]).map((match) =>
      condition(quoted(field), match),
    ),
  )
  const all = ['_doc is not null', `${by} is not null`, ...conditions.map(({ sql }) => sql)]
  const values = conditions.flatMap((one) => one.values)
  const behind = after ? ` and (${by}, _key) > (?, ?)` : ''
  return {
    page: {
      sql: `select ${ROW} from ${quoted(table)} where ${all.join(' and ')}${behind} order by ${by}, _key limit ?`,
      values: [...values, ...(after ? [after.value, after.key] : []), limit],
    },
    total: { sql: `select count(*) from ${quoted(table)} where ${all.join(' and ')}`, values },
  }
}
