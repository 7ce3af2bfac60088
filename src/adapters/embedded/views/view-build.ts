import type { Clock } from '../../../base/clock.ts'
import type { Checkpoint, Index, Row, Scalar, View, Views } from '../../../projections/views.ts'
import { type Database, isPage, rowsOf, type Value } from '../sqlite.ts'
import type { Channel } from '../writer/channel.ts'
import type { FlatCheckpoint, FlatRows, Shape } from '../writer/protocol.ts'
import { rowOf } from './view-scan.ts'
import { indexName } from './view-schema.ts'

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
