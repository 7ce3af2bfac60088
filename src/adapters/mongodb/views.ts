import type { Collection, Document, Filter } from 'mongodb'
import type { Clock } from '../../base/clock.ts'
import { isRefusal } from '../../base/errors.ts'
import {
  KEY,
  type Match,
  type Query,
  type Row,
  type Scalar,
  type Totals,
  type View,
  type ViewPart,
  type Views,
} from '../../projections/views.ts'
import { above } from '../embedded/views/view-query.ts'
import type { Calls } from './calls.ts'
import type { mongoPlaces } from './collections.ts'
import type { mongoRecords } from './records.ts'
import { rowOf, type rowWriter, type StoredRow } from './rows.ts'

/** Range condition. MongoDB compares only values of the same type, so a range of text matches no numbers. */
const range = (from: Scalar | undefined, below: Scalar | undefined): Document => {
  if (from === undefined && below === undefined) return { $exists: true }
  return { ...(from !== undefined && { $gte: from }), ...(below !== undefined && { $lt: below }) }
}

const condition = (field: string, match: Match): Document => {
  if ('prefix' in match) return { [field]: range(match.prefix, above(match.prefix)) }
  // In `$in`, null matches absent fields.
  if ('equals' in match) return { [field]: { $in: match.equals.map((value) => value ?? null) } }
  const within = { [field]: range(match.from, match.below) }
  return match.orAbsent ? { $or: [within, { [field]: null }] } : within
}

const path = (field: string) => (field === KEY ? '_id' : `doc.${field}`)

/** Filter of all matches, filter of the page after `after`, and sort order of the page. */
const filtersOf = ({ where, order, descending, after }: Query) => {
  const by = path(order)
  const [direction, past, pastOrAt] = descending ? ([-1, '$lt', '$lte'] as const) : ([1, '$gt', '$gte'] as const)
  const matching = Object.entries(where).flatMap(([field, matches]) =>
    (Array.isArray(matches) ? (matches as readonly Match[]) : [matches as Match]).map((match) =>
      condition(path(field), match),
    ),
  )
  const all = [{ [by]: { $exists: true } }, ...matching]
  // The second condition implies the first, which gives the index scan its bound.
  const behind = after && [
    { [by]: { [pastOrAt]: after.value } },
    { $or: [{ [by]: { [past]: after.value } }, { [by]: after.value, _id: { [past]: after.key } }] },
  ]
  return {
    total: { $and: all } as Filter<StoredRow>,
    page: { $and: [...all, ...(behind ?? [])] } as Filter<StoredRow>,
    sort: { [by]: direction, _id: direction } as const,
  }
}

const PAGE = 1000

const TRIES = 5
const PAUSE_MS = 250

/** Retries a read during startup, because one slow answer should not discard all earlier reads. */
const retried = async <T>(calls: Calls, clock: Clock, read: () => Promise<T>): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (tries === TRIES || !calls.open() || !isRefusal(error, 'backend_unavailable')) throw error
      await clock.sleep(PAUSE_MS * 2 ** (tries - 1))
    }
  }
}

/** Page of a collection in key order, after the given key: whole rows or the fields of `part`. */
const pageOf = (calls: Calls, rows: Collection<StoredRow>, after: string | undefined, part?: ViewPart) =>
  calls.call('batch', (limits): Promise<readonly StoredRow[]> => {
    const where = {
      ...(after !== undefined && { _id: { $gt: after } }),
      ...(part && { [`doc.${part.lacking}`]: null }),
    }
    const projection = part && {
      revision: 1,
      position: 1,
      changes: 1,
      unreadable: 1,
      ...Object.fromEntries(part.fields.map((field) => [`doc.${field}`, 1])),
    }
    return rows.find(where, { sort: { _id: 1 }, limit: PAGE, ...limits, ...(projection && { projection }) }).toArray()
  })

/** Number of documents with the field `having`, by value of the field `by`. */
const tallied = (calls: Calls, rows: Collection<StoredRow>, having: string, by: string) =>
  calls.call('batch', (limits) => {
    const where = { [`doc.${having}`]: { $exists: true }, [`doc.${by}`]: { $exists: true } }
    const pipeline = [{ $match: where }, { $group: { _id: `$doc.${by}`, n: { $sum: 1 } } }]
    return rows.aggregate<{ readonly _id: string | number; readonly n: number | bigint }>(pipeline, limits).toArray()
  })

/** Distinct values of a field among the documents that match the conditions. */
const valued = (calls: Calls, rows: Collection<StoredRow>, where: Filter<StoredRow>, field: string, most: number) =>
  calls.call('read', (limits) => {
    const pipeline = [{ $match: where }, { $group: { _id: `$doc.${field}` } }, { $limit: most }]
    return rows.aggregate<{ readonly _id: Scalar }>(pipeline, limits).toArray()
  })

/**
 * Number of rows and the sum of their changes. Uses two queries, because some implementations of the protocol cannot
 * aggregate both at once.
 */
const totalsOf = (calls: Calls, rows: Collection<StoredRow>): Promise<Totals> =>
  calls.call('batch', async (limits) => {
    const sum = { $group: { _id: null, changes: { $sum: '$changes' } } }
    const count = await rows.countDocuments({}, limits)
    const [found] = await rows.aggregate<{ readonly changes: number | bigint }>([sum], limits).toArray()
    return { rows: count, changes: Number(found?.changes ?? 0) }
  })

export type ViewsParts = {
  readonly calls: Calls
  readonly clock: Clock
  readonly places: ReturnType<typeof mongoPlaces>
  readonly rows: ReturnType<typeof rowWriter>
  readonly records: ReturnType<typeof mongoRecords>
}

/**
 * Views in MongoDB, with one document for each row and one collection for each view. `put` resolves when a majority has
 * journaled the rows, so a read from the primary returns them. A deposed primary may answer without them for a while.
 */
export const mongoViews = ({ calls, clock, places, rows: writer, records }: ViewsParts): Omit<Views, 'close'> => ({
  get: async <D extends object>(view: View, key: string) => {
    const read = () =>
      places.reading(view, (rows) => calls.call('read', (limits) => rows.findOne({ _id: key }, limits)))
    const found = await calls.call('whole', read)
    return found ? rowOf<D>(found) : undefined
  },
  getMany: async <D extends object>(view: View, keys: readonly string[]) => {
    const where = { _id: { $in: keys } }
    const read = () =>
      places.reading(view, (rows) => calls.call('read', (limits) => rows.find(where, limits).toArray()))
    const found: readonly StoredRow[] = await calls.call('whole', read)
    return found.map(rowOf<D>)
  },
  put: (view, rows) => places.writing(view, (to) => writer.put(to, rows)),
  list: async <D extends object>(view: View, query: Parameters<Views['list']>[1]) => {
    const { page, total, sort } = filtersOf(query)
    const read = () =>
      places.reading(view, async (from) => {
        const found = await calls.call('read', (limits) =>
          from.find(page, { sort, limit: query.limit, ...limits }).toArray(),
        )
        const rows: readonly Row<D>[] = found.map(rowOf<D>)
        const { after, limit, count = 0 } = query
        if (count === 0 || (!after && rows.length < limit)) return { rows, total: Math.min(rows.length, count) }
        const counted = await calls.call('read', (limits) => from.countDocuments(total, { limit: count, ...limits }))
        return { rows, total: counted }
      })
    return calls.call('whole', read)
  },
  values: async (view, where, field, most) => {
    const { total } = filtersOf({ where, order: field, limit: most })
    const found = await places.reading(view, (rows) => valued(calls, rows, total, field, most))
    return found.map(({ _id }) => _id)
  },
  scan: async function* <D extends object>(view: View, part?: ViewPart) {
    const rows = places.collection((await places.find(view)).rows)
    for (let after: string | undefined; ; ) {
      const page: readonly StoredRow[] = await retried(calls, clock, () => pageOf(calls, rows, after, part))
      if (page.length > 0) yield page.map(rowOf<D>)
      if (page.length < PAGE) return
      after = page.at(-1)!._id
    }
  },
  tally: async (view, having, by) => {
    const counted = await retried(calls, clock, () => places.reading(view, (rows) => tallied(calls, rows, having, by)))
    return new Map(counted.map(({ _id, n }) => [String(_id), Number(n)]))
  },
  checkpoint: async (view) => (await places.find(view)).checkpoint,
  totals: (view) => places.reading(view, (rows) => totalsOf(calls, rows)),
  newest: async (view) => {
    const last = { sort: { position: -1 }, limit: 1, projection: { position: 1 } } as const
    const found = await places.reading(view, (rows) =>
      calls.call('batch', (limits) => rows.find({}, { ...last, ...limits }).toArray()),
    )
    return found[0]?.position ?? 0n
  },
  mark: places.mark,
  build: async (view) => {
    const { rows, ...building } = await places.build(view)
    return {
      ...building,
      getMany: async <D extends object>(keys: readonly string[]) => {
        const where = { _id: { $in: keys } }
        return (await calls.call('batch', (limits) => rows.find(where, limits).toArray())).map(rowOf<D>)
      },
      put: (built) => writer.put(rows, built),
    }
  },
  ...records,
})
