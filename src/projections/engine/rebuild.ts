import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { isLogProjection, type ReadModel } from '../history/log-marks.ts'
import type { AnyProjection } from '../projection.ts'
import type { Building, Checkpoint, Row, Views } from '../views.ts'
import { advanced, START } from './checkpoints.ts'
import { byStream, type FoldSources, foldRow, keyOf } from './fold-rows.ts'

/** Events read so far, the position reached, and the position at which this pass ends. */
export type Progress = { readonly done: number; readonly position: bigint; readonly head: bigint }

/** Characters of recently changed rows of each view that stay in memory; other rows are read back from the store. */
const RECENT_CHARACTERS = 8 * 1_048_576
/** Pages of the log between two checkpoints of the build. */
const MARK_PAGES = 10

/** Source and target of a rebuild. */
type RebuiltLog = Pick<EventLog, 'read' | 'readAll' | 'at' | 'first' | 'head'>
export type RebuildSources = { readonly clock: Clock; readonly log: RebuiltLog; readonly views: Views }

/** A row, and its approximate number of characters. */
type Sized = { readonly row: Row; readonly size: number }

/** Rows of one view after new events. They are computed from the rows already written, so memory is limited. */
const foldedRows = (sources: FoldSources, projection: AnyProjection, building: Building) => {
  const recent = new LRUCache<string, Sized>({ maxSize: RECENT_CHARACTERS, sizeCalculation: ({ size }) => size + 1 })
  const prefix = `${projection.category}-`

  /** The current rows of these streams, except of streams that begin in this page. */
  const present = async (streams: ReadonlyMap<string, readonly Stored[]>): Promise<ReadonlyMap<string, Sized>> => {
    const found = new Map<string, Sized>()
    const away: string[] = []
    for (const [stream, [first]] of streams) {
      const key = keyOf(projection, stream)
      const kept = recent.get(key)
      if (kept) found.set(key, kept)
      else if (first!.revision > 0n) away.push(key)
    }
    if (away.length > 0)
      for (const row of await building.getMany(away))
        found.set(row.key, { row, size: row.doc === undefined ? 0 : JSON.stringify(row.doc).length })
    return found
  }

  return async (page: readonly Stored[]): Promise<readonly Row[]> => {
    const streams = byStream(page.filter(({ stream }) => stream.startsWith(prefix)))
    const there = await present(streams)
    const rows: Row[] = []
    for (const [stream, events] of streams) {
      const key = keyOf(projection, stream)
      const before = there.get(key)
      const row = await foldRow(sources, projection, events, before?.row)
      const size = events.reduce((sum, { data }) => sum + data.length, before?.size ?? 0)
      recent.set(key, { row, size })
      if (row !== before?.row) rows.push(row)
    }
    return rows
  }
}

/** Rebuild of one view, or of one log projection, which reads the rows that it needs from those that it has written. */
const construction = (sources: RebuildSources, model: ReadModel, building: Building) => {
  let checkpoint = building.checkpoint ?? START
  const { log } = sources
  const rowsOf = isLogProjection(model)
    ? (page: readonly Stored[]) => model.rowsOf({ log, find: building.getMany }, checkpoint, page)
    : foldedRows(sources, model, building)
  return {
    building,
    checkpoint: (): Checkpoint => checkpoint,
    take: async (page: readonly Stored[]): Promise<void> => {
      const beyond = page.filter(({ position }) => position > checkpoint.position)
      if (beyond.length === 0) return
      const rows = await rowsOf(beyond)
      if (rows.length > 0) await building.put(rows)
      checkpoint = advanced(model, checkpoint, beyond)
    },
  }
}

/** Continues an interrupted build if the log still has the event of its checkpoint; starts a new one otherwise. */
const begun = async (log: RebuiltLog, views: Views, projection: ReadModel): Promise<Building> => {
  for (;;) {
    const building = await views.build(projection)
    const { checkpoint } = building
    if (checkpoint === undefined) return building
    const [there, first] = [await log.at(checkpoint.position), await log.first()]
    if (there?.id === checkpoint.event && first?.id === checkpoint.log) return building
    await building.discard()
  }
}

/**
 * Rebuilds read models in one pass over the log. The previous ones stay in use until the new ones replace them. An
 * interrupted rebuild is continued by the next one of the same views.
 */
export const rebuild = async (
  sources: RebuildSources,
  models: readonly ReadModel[],
  onProgress: (progress: Progress) => void = () => {},
): Promise<void> => {
  const { log, views } = sources
  const all: ReturnType<typeof construction>[] = []
  try {
    for (const model of models) all.push(construction(sources, model, await begun(log, views, model)))
    const head = await log.head()
    const least = () => all.map((each) => each.checkpoint()).reduce((a, b) => (b.position < a.position ? b : a))
    let pages = 0
    for await (const page of log.readAll(least().position, head)) {
      for (const each of all) await each.take(page)
      const { events: done, position } = least()
      if (++pages % MARK_PAGES === 0) for (const each of all) await each.building.mark(each.checkpoint())
      onProgress({ done, position, head })
    }
    for (const each of all) await each.building.swap(each.checkpoint())
  } catch (error) {
    for (const { building } of all) await building.leave()
    throw error
  }
}
