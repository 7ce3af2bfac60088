import type { Clock } from '../../base/clock.ts'
import type { EventLog, ReadParts, Stored } from '../../events/log.ts'
import type { FindLeast, Views } from '../../projections/views.ts'
import { closed } from './keys.ts'
import { embeddedLog, eventColumns, isAtFault, type LogFile, type Placed, stored } from './log.ts'
import { type Database, isDamage, openDatabase, pageUpTo, prepared, rowsOf, tableQuery, whileOpen } from './sqlite.ts'
import type { ViewsFile } from './views/renewable-views.ts'
import { shapeOf } from './views/view-build.ts'
import { leastOf } from './views/view-query.ts'
import { embeddedViews, tablesIn } from './views/views.ts'
import type { Paths } from './writer/protocol.ts'

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
const partsReader = (events: Database, { file, onDamage }: LogFile): ReadParts => {
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
const leastFinder = (views: Database, { file, onDamage }: LogFile): FindLeast => {
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

/** Access of another thread to the files of an open store. */
export type Files = {
  readonly paths: Pick<Paths, 'events' | 'views'>
  readonly flushed: () => Promise<void>
  readonly onDamage: (file: string, error: Error, era: number) => void
  /** The current file of the read models. */
  readonly views: ViewsFile
}

type ReadOnly = {
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'head'>
  readonly views: Pick<Views, 'list' | 'values' | 'getMany' | 'checkpoint' | 'scan'>
  readonly together: { readonly parts: ReadParts; readonly least: FindLeast }
  readonly close: () => void
}

/**
 * Opens the log and the read models of a store that this process has open, on read-only connections of their own. Sees
 * only rows that are written to the files.
 */
export const openReadOnly = async (
  { events, views }: Files['paths'],
  clock: Clock,
  onDamage: (file: string, error: Error) => void,
): Promise<ReadOnly> => {
  const ofFile = (file: string) => ({ file, onDamage: (error: Error) => onDamage(file, error) })
  const opened: Database[] = []
  const close = (): void => {
    for (const database of opened) database.close()
  }
  const open = async (file: string): Promise<Database> => {
    const database = await openDatabase(file, 'read')
    opened.push(database)
    return database
  }
  try {
    const readers = { events: await open(events), views: await open(views), another: () => openDatabase(views, 'read') }
    const watched = { events: ofFile(events), views: ofFile(views) }
    const log = embeddedLog(closed, readers.events, watched.events)
    const together = {
      parts: partsReader(readers.events, watched.events),
      least: leastFinder(readers.views, watched.views),
    }
    return { log, views: embeddedViews(closed, { clock, ...readers, watched }), together, close }
  } catch (error) {
    close()
    throw error
  }
}
