import type { ReadParts, Stored } from '../../../events/log.ts'
import type { FindLeast } from '../../../projections/views.ts'
import { eventColumns, isAtFault, type LogFile, type Placed, stored } from '../log.ts'
import { type Database, isDamage, pageUpTo, prepared, rowsOf, whileOpen } from '../sqlite.ts'
import { shapeOf } from './view-build.ts'
import { leastOf } from './view-query.ts'
import { tableQuery, tablesIn } from './views.ts'

/** Maximum characters of text in one combined read. */
const LOT = 262_144

/**
 * Query for the events of several parts of streams. `cross join` keeps the parts in their order and the index keeps the
 * events in theirs; an `order by` would make SQLite sort again.
 */
export const partsQuery = `select part.key, ${eventColumns('e.')}, e.position from json_each(?) part cross join events e
 on e.stream = part.value ->> 0 and e.revision >= part.value ->> 1 and e.revision < (part.value ->> 1) + ?
 and +e.position <= ?`

const isWhole = (events: readonly Stored[], from: bigint, most: number): boolean =>
  events.length > 0 && events.length < most && events.every(({ revision }, n) => revision === from + BigInt(n))

/** Reads parts of several streams with one statement. */
export const partsReader = (events: Database, { file, onDamage }: LogFile): ReadParts => {
  const statement = rowsOf(events, partsQuery)
  const reading = whileOpen(() => true, { file, isDamage: isAtFault, onDamage })
  return async (parts, most, upTo) => {
    const partsJson = JSON.stringify(parts.map(([stream, from]) => [stream, Number(from)]))
    const { rows, more } = reading(() => pageUpTo(LOT, statement, partsJson, most, Number(upTo)))
    const found: Stored[][] = parts.map(() => [])
    for (const [part, ...row] of rows as (readonly [number, ...Placed])[])
      found[part]!.push(reading(() => stored(row, row[5])))
    // The last part of a full page may be incomplete.
    const complete = more ? found.slice(0, (rows as (readonly [number])[]).at(-1)![0]) : found
    return complete.map((page, n) => (isWhole(page, parts[n]![1], most) ? page : undefined))
  }
}

/** Finds the least document for each of several texts with one statement. */
export const leastFinder = (views: Database, { file, onDamage }: LogFile): FindLeast => {
  const isThere = tablesIn(tableQuery(views))
  const prepare = prepared(views)
  const reading = whileOpen(() => true, { file, isDamage, onDamage })
  return async <D extends object>(...[view, texts, { by, order, from }]: Parameters<FindLeast>) => {
    const { table } = shapeOf(view)
    if (!reading(() => isThere(table))) return texts.map(() => undefined)
    const { rows } = reading(() => pageUpTo(LOT, prepare(leastOf(table, by, order)), from, JSON.stringify(texts)))
    return reading(() =>
      (rows as (readonly [string | null])[]).map(([doc]) => (doc === null ? undefined : (JSON.parse(doc) as D))),
    )
  }
}
