import type { Clock } from '../../../base/clock.ts'
import { refuse } from '../../../base/errors.ts'
import { timeSlicer } from '../../../base/event-loop.ts'
import {
  type RecordOf,
  type Row,
  supersedes,
  type View,
  type ViewPart,
  type Views,
} from '../../../projections/views.ts'
import {
  type Database,
  isBroken,
  isDamage,
  prepared,
  refusalOf,
  rowsOf,
  type Statement,
  tableQuery,
  type Watched,
  whileOpen,
} from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { FlatCheckpoint, Raw } from '../writer/protocol.ts'
import { rowsUnderWay } from './pending-rows.ts'
import { checkpointOf, flatCheckpoint, shapeOf, viewBuilder } from './view-build.ts'
import { listed, ROW, rowOf, scanned, tallied, valued } from './view-query.ts'

/** Small records with compare-and-set, in the file of the log. */
export const embeddedRecords = (
  channel: Channel,
  events: Database,
  clock: Clock,
  reading: ReturnType<typeof whileOpen>,
): Pick<Views, 'record' | 'records' | 'swapRecord'> => {
  const recordOf = rowsOf(events, 'select revision, value from records where kind = ? and key = ? and until > ?')
  const find = <V>(kind: string, key: string): RecordOf<V> | undefined => {
    const found = recordOf.get(kind, key, clock.now().getTime()) as [number, string] | undefined
    return found && { revision: found[0], value: JSON.parse(found[1]) as V }
  }
  return {
    record: async <V>(kind: string, key: string) => reading(() => find<V>(kind, key)),
    records: async <V>(kind: string, keys: readonly string[]) =>
      reading(() => {
        const found = new Map<string, RecordOf<V>>()
        for (const key of keys) {
          const record = find<V>(kind, key)
          if (record) found.set(key, record)
        }
        return found
      }),
    swapRecord: async (kind, key, expected, value, until) =>
      channel.call('swapRecord', kind, key, expected, JSON.stringify(value), until, clock.now().getTime()),
  }
}

/**
 * Connections of the views: their file, the file of the log, which holds the records, and a new connection per scan.
 * Records expire by the given clock.
 */
export type ViewReaders = {
  readonly clock: Clock
  readonly views: Database
  readonly events: Database
  readonly another: () => Promise<Database>
  /** Database files, and listeners for their damage. */
  readonly watched: { readonly views: Omit<Watched, 'isDamage'>; readonly events: Omit<Watched, 'isDamage'> }
}

/** Views, and a promise that resolves when all rows written so far are in their file. */
export type EmbeddedViews = Views & { readonly flushed: () => Promise<void> }

/** Finds the row of a key in a table; undefined if the table does not exist. */
const rowsByKey = (views: Database, isThere: (table: string) => boolean, reading: ReturnType<typeof whileOpen>) => {
  const statements = new Map<string, Statement>()
  return <D extends object>(table: string, key: string): Row<D> | undefined =>
    reading(() => {
      let statement = statements.get(table)
      if (!statement) {
        if (!isThere(table)) return undefined
        statement = rowsOf(views, `select ${ROW} from "${table}" where _key = ?`)
        statements.set(table, statement)
      }
      const raw = statement.get(key) as Raw | undefined
      return raw && rowOf<D>(raw)
    })
}

/** Returns true if a table exists; caches positive results. */
export const tablesIn = (hasTable: Statement) => {
  const known = new Set<string>()
  return (table: string): boolean => {
    const found = known.has(table) || hasTable.get(table) !== undefined
    if (found) known.add(table)
    return found
  }
}

/** Number of rows and changes of a view in its file, and the position of its newest row. */
const extents = (
  views: Database,
  hasTable: Statement,
  flushed: () => Promise<void>,
  reading: ReturnType<typeof whileOpen>,
): Pick<Views, 'totals' | 'newest'> => {
  const newest = rowsOf(views, 'select newest from views where name = ?')
  return {
    totals: async (view) => {
      await flushed()
      const { table } = shapeOf(view)
      const sql = `select count(*), coalesce(sum(_changes), 0) from "${table}"`
      return reading(() => {
        const [rows, changes] = hasTable.get(table) ? (rowsOf(views, sql).get() as [number, number]) : [0, 0]
        return { rows, changes }
      })
    },
    newest: async (view) => {
      await flushed()
      return reading(() => BigInt((newest.get(shapeOf(view).table) as [number] | undefined)?.[0] ?? 0))
    },
  }
}

/** Number of rows by key that are read without a look at the slice. */
const TOGETHER = 8

/** Reads rows by key, with other work between them when a slice is used up. */
const inSlices = async <R>(keys: readonly string[], read: (key: string) => R | undefined): Promise<R[]> => {
  const found: R[] = []
  let pause: ReturnType<typeof timeSlicer> | undefined
  for (const [n, key] of keys.entries()) {
    if (n % TOGETHER === TOGETHER - 1) await (pause ??= timeSlicer())()
    const row = read(key)
    if (row) found.push(row)
  }
  return found
}

/** Scans a table over a connection of its own, which gives a consistent snapshot. */
async function* scannedAlone<D extends object>(
  another: ViewReaders['another'],
  watched: Watched,
  table: string,
  part?: ViewPart,
): ReturnType<typeof scanned<D>> {
  const snapshot = await another()
  try {
    yield* scanned<D>(snapshot, table, part)
  } catch (error) {
    throw refusalOf(error, watched)
  } finally {
    snapshot.close()
  }
}

/**
 * Views in a SQLite file. `put` resolves before the rows are durable: this process sees them immediately, and rows lost
 * in a crash are restored from the log.
 */
export const embeddedViews = (
  channel: Channel,
  { clock, views, events, another, watched }: ViewReaders,
): EmbeddedViews => {
  const hasTable = tableQuery(views)
  const markOf = rowsOf(views, 'select position, event, log, events, rows, changes from views where name = ?')
  const prepare = prepared(views)
  const underWay = rowsUnderWay(channel, clock)
  let open = true

  const ofViews: Watched = { ...watched.views, isDamage }
  const reading = whileOpen(() => open, ofViews)
  const readingRecords = whileOpen(() => open, { ...watched.events, isDamage: isBroken })

  const isThere = tablesIn(hasTable)
  const kept = rowsByKey(views, isThere, reading)
  const { build, indexSoon, indexing } = viewBuilder(channel, views, clock, () => open)

  const newest = <D extends object>({ table }: { readonly table: string }, key: string): Row<D> | undefined => {
    const stored = kept<D>(table, key)
    const pending = underWay.get(table, key) as Row<D> | undefined
    return pending && (!stored || supersedes(pending, stored)) ? pending : stored
  }

  return {
    get: async <D extends object>(view: View, key: string) => newest<D>(shapeOf(view), key),
    getMany: async <D extends object>(view: View, keys: readonly string[]) => {
      const shape = shapeOf(view)
      return inSlices(keys, (key) => newest<D>(shape, key))
    },
    put: async (view, rows) => {
      if (!open) refuse('backend_unavailable')
      await underWay.put(view, rows)
    },
    list: async <D extends object>(view: View, query: Parameters<Views['list']>[1]) => {
      await underWay.flushed()
      const shape = shapeOf(view)
      return reading(() => {
        if (!isThere(shape.table)) return { rows: [], total: 0 }
        return listed<D>(prepare, shape, query)
      })
    },
    values: async (view, where, field, most) => {
      await underWay.flushed()
      const shape = shapeOf(view)
      return reading(() => (isThere(shape.table) ? valued(prepare, shape, where, field, most) : []))
    },
    scan: async function* <D extends object>(view: View, part?: ViewPart) {
      await underWay.flushed()
      const { table } = shapeOf(view)
      if (!reading(() => hasTable.get(table))) return
      yield* scannedAlone<D>(another, ofViews, table, part)
    },
    tally: async (view, having, by) => {
      await underWay.flushed()
      const { table } = shapeOf(view)
      return reading(() => (isThere(table) ? tallied(views, table, having, by) : new Map<string, number>()))
    },
    checkpoint: async (view) =>
      reading(() => {
        const shape = shapeOf(view)
        const mark = markOf.get(shape.table) as FlatCheckpoint | undefined
        if (mark && hasTable.get(shape.table)) indexSoon(shape)
        return mark && checkpointOf(mark)
      }),
    mark: async (view, from, to) =>
      channel.call('mark', shapeOf(view), from === undefined ? null : Number(from), flatCheckpoint(to)),
    flushed: underWay.flushed,
    ...extents(views, hasTable, underWay.flushed, reading),
    build,
    ...embeddedRecords(channel, events, clock, readingRecords),
    close: async () => {
      open = false
      await indexing()
      // Rows that cannot be written now (full disk) are restored from the log at the next start.
      await underWay.flushed().catch(() => undefined)
    },
  }
}
