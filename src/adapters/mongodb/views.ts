import type { Row, View, Views } from '../../projections/views.ts'
import type { Calls } from './calls.ts'
import type { mongoPlaces } from './collections.ts'
import { filtersOf } from './query.ts'
import type { mongoRecords } from './records.ts'
import { rowOf, type rowWriter, type StoredRow } from './rows.ts'

const PAGE = 1000

export type ViewsParts = {
  readonly calls: Calls
  readonly places: ReturnType<typeof mongoPlaces>
  readonly rows: ReturnType<typeof rowWriter>
  readonly records: ReturnType<typeof mongoRecords>
}

/** Views in MongoDB: a document a row, in a collection a view. `put` answers when a majority has the rows in its journal, so every instance sees them. */
export const mongoViews = ({ calls, places, rows: writer, records }: ViewsParts): Omit<Views, 'close'> => ({
  get: async <D extends object>(view: View, key: string) => {
    const read = () =>
      places.reading(view, (rows) => calls.call('read', (signal) => rows.findOne({ _id: key }, { signal })))
    const found = await calls.call('whole', read)
    return found ? rowOf<D>(found) : undefined
  },
  getMany: async <D extends object>(view: View, keys: readonly string[]) => {
    const where = { _id: { $in: keys } }
    const read = () =>
      places.reading(view, (rows) => calls.call('read', (signal) => rows.find(where, { signal }).toArray()))
    const found: readonly StoredRow[] = await calls.call('whole', read)
    return found.map(rowOf<D>)
  },
  put: (view, rows) => places.writing(view, (to) => writer.put(to, rows)),
  list: async <D extends object>(view: View, query: Parameters<Views['list']>[1]) => {
    const { page, total, sort } = filtersOf(query)
    const read = () =>
      places.reading(view, async (from) => {
        const found = await calls.call('read', (signal) =>
          from.find(page, { sort, limit: query.limit, signal }).toArray(),
        )
        const rows: readonly Row<D>[] = found.map(rowOf<D>)
        const complete = !query.after && rows.length < query.limit
        return {
          rows,
          total: complete ? rows.length : await calls.call('read', (signal) => from.countDocuments(total, { signal })),
        }
      })
    return calls.call('whole', read)
  },
  scan: async function* <D extends object>(view: View) {
    const { rows } = await places.find(view)
    for (let after: string | undefined; ; ) {
      const page: readonly StoredRow[] = await places.page(rows, after, PAGE)
      if (page.length > 0) yield page.map(rowOf<D>)
      if (page.length < PAGE) return
      after = page.at(-1)!._id
    }
  },
  checkpoint: async (view) => (await places.find(view)).checkpoint,
  count: (view) => places.reading(view, (rows) => calls.call('batch', (signal) => rows.countDocuments({}, { signal }))),
  mark: places.mark,
  build: async (view) => {
    const { rows, ...building } = await places.build(view)
    return {
      ...building,
      getMany: async <D extends object>(keys: readonly string[]) => {
        const where = { _id: { $in: keys } }
        return (await calls.call('batch', (signal) => rows.find(where, { signal }).toArray())).map(rowOf<D>)
      },
      put: (built) => writer.put(rows, built),
    }
  },
  ...records,
})
