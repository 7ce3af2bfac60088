import { randomUUID } from 'node:crypto'
import { asOf, type Moment } from '../../src/as-of/as-of.ts'
import { asOfReads } from '../../src/as-of/reads.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import { projections, resources } from '../../src/projections/all.ts'
import { advanced, START } from '../../src/projections/engine/checkpoints.ts'
import { quarantinedDocuments } from '../../src/projections/flag-memory/quarantined-documents.ts'
import { incarnationStore } from '../../src/projections/history/incarnations.ts'
import { markView } from '../../src/projections/history/log-marks.ts'
import { logMarksAndStates } from '../../src/projections/history/stream-states.ts'
import { project } from '../../src/projections/projection.ts'
import { meets, type Where } from '../../src/projections/token-status.ts'
import { type Checkpoint, KEY, type Query, type Row, type View } from '../../src/projections/views.ts'
import { memoryLog } from '../memory-log.ts'

export const second = (n: number): string => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()
export const never = new AbortController().signal
const key = new Uint8Array(32)

type Told = { readonly type: string; readonly data: object }

/** In-memory rows with the lookup of a view store. */
const memoryViews = () => {
  const views = new Map<string, Map<string, Row>>()
  const checkpoints = new Map<string, Checkpoint>()
  const rowsOf = ({ name }: View) => {
    const rows = views.get(name) ?? new Map<string, Row>()
    views.set(name, rows)
    return rows
  }
  const value = ({ key, doc }: Row, field: string) =>
    field === KEY ? key : (doc as Readonly<Record<string, string | number | undefined>> | undefined)?.[field]
  const compare = (one: string | number, other: string | number): number =>
    typeof one === 'string' ? Buffer.from(one).compare(Buffer.from(String(other))) : one - Number(other)
  return {
    rowsOf,
    mark: ({ name }: View, checkpoint: Checkpoint): void => void checkpoints.set(name, checkpoint),
    checkpoint: async ({ name }: View) => checkpoints.get(name),
    getMany: async <D extends object>(view: View, keys: readonly string[]) =>
      keys.flatMap((key) => (rowsOf(view).get(key) as Row<D> | undefined) ?? []),
    values: async (view: View, where: Query['where'], field: string, most: number) => {
      const docs = [...rowsOf(view).values()].flatMap(({ doc }) => (doc && meets(doc, where as Where) ? [doc] : []))
      const all = docs.flatMap((doc) => (doc as Readonly<Record<string, string | undefined>>)[field] ?? [])
      return [...new Set(all)].slice(0, most)
    },
    list: async <D extends object>(view: View, { where, order, descending, limit, after, count = 0 }: Query) => {
      const places = [...rowsOf(view).values()].flatMap((row) => {
        const by = value(row, order)
        return row.doc && by !== undefined && meets(row.doc, where as Where) ? [{ row, value: by, key: row.key }] : []
      })
      type Place = NonNullable<typeof after>
      const inOrder = (a: Place, b: Place) =>
        (compare(a.value, b.value) || compare(a.key, b.key)) * (descending ? -1 : 1)
      const behind = places.sort(inOrder).filter((place) => !after || inOrder(place, after) > 0)
      const rows = behind.slice(0, limit).map(({ row }) => row) as unknown as Row<D>[]
      return { rows, total: Math.min(count, places.length) }
    },
  }
}

/** History with the sources of past reads, and counts of the events read per stream. */
export const history = () => {
  const inner = memoryLog({ pageSize: 50 })
  const views = memoryViews()
  const reads = new Map<string, number>()
  let walked = 0
  const log: EventLog = {
    ...inner,
    read: async function* (stream, from, most) {
      for await (const page of inner.read(stream, from, most)) {
        reads.set(stream, (reads.get(stream) ?? 0) + page.length)
        yield page
      }
    },
    readAll: async function* (after, to) {
      for await (const page of inner.readAll(after, to)) {
        walked += page.length
        yield page
      }
    },
  }
  const revisions = new Map<string, bigint>()
  const append = async (stream: string, events: readonly Told[], at: string) => {
    const revision = revisions.get(stream)
    const stored = events.map(({ type, data }) => ({
      id: randomUUID(),
      type,
      time: at,
      data: JSON.stringify(data),
      meta: '{}',
    }))
    await inner.append(stream, stored, revision ?? 'none')
    revisions.set(stream, (revision ?? -1n) + BigInt(events.length))
  }

  /** Builds the chronicles up to the head of the log. */
  const built = async (pageSize = 50) => {
    for (const chronicle of logMarksAndStates(key)) {
      let checkpoint: Checkpoint = START
      for (let at = 0; at < inner.all.length; at += pageSize) {
        const page = inner.all.slice(at, at + pageSize)
        const find = <D extends object>(keys: readonly string[]) => views.getMany<D>(chronicle, keys)
        for (const row of await chronicle.rowsOf({ log: inner, find }, checkpoint, page))
          views.rowsOf(chronicle).set(row.key, row)
        checkpoint = advanced(chronicle, checkpoint, page)
      }
      views.mark(chronicle, checkpoint)
    }
    for (const [name, row] of folded(inner.all)) {
      const [model, id] = name.split(' ') as [string, string]
      views.rowsOf(resources.find((each) => each.name === model) ?? { ...markView, name: model }).set(id, row)
    }
  }

  /** Folds these events to the rows of all read models, by name and key. */
  const folded = (events: readonly Stored[]) => {
    const rows = new Map<string, Row>()
    for (const event of events)
      for (const projection of projections) {
        if (!event.stream.startsWith(`${projection.category}-`)) continue
        const name = `${projection.name} ${event.stream.slice(projection.category.length + 1)}`
        rows.set(name, project(projection, rows.get(name), event))
      }
    return rows
  }
  /** Builds the memory of an instance with all rows. */
  const memory = () => {
    const lives = incarnationStore()
    const closed = quarantinedDocuments(resources, () => undefined)
    for (const [name, row] of folded(inner.all)) {
      const projection = projections.find((each) => name.startsWith(`${each.name} `))!
      lives.set(projection.name, row)
      if (resources.includes(projection)) closed.take(projection, row)
    }
    const present = (view: string, id: string) => folded(inner.all).get(`${view} ${id}`)
    return { lives, closed, present }
  }

  const past = asOfReads({ log, views, key, atOnce: 8 })
  const now = () => new Date(second(1_000_000))
  const sources = (): Parameters<typeof asOf<string>>[0] => ({
    log,
    viewsReached: async () => true,
    reads: past,
    ...memory(),
    seen: async () => true,
    compile: () => 'compiled',
    clock: { now, newest: now },
  })
  return {
    append,
    built,
    folded,
    views,
    past,
    all: inner.all,
    /** Events read since the last call: maximum per stream, all streams, and log. */
    counted: () => {
      const most = Math.max(0, ...reads.values())
      const streams = [...reads.keys()]
      const log = walked
      reads.clear()
      walked = 0
      return { most, streams, log }
    },
    /** `other` replaces sources. */
    asOf: (moment: Moment, signal: AbortSignal = never, other: Partial<ReturnType<typeof sources>> = {}) =>
      asOf({ ...sources(), ...other })(moment, signal),
  }
}
