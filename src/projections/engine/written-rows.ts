import type { Clock } from '../../base/clock.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { LogProjection } from '../history/log-projection.ts'
import { type AnyProjection, areQuiet } from '../projection.ts'
import type { Row, Views } from '../views.ts'
import type { Checkpoints } from './checkpoints.ts'
import { byStream, foldRow, keyOf } from './fold-rows.ts'
import type { oversizedRows } from './oversized-rows.ts'
import type { RecentEvents } from './recent-events.ts'

/** Maximum number of rows in one write. A slow store completes it within the time limit of a step. */
const STEP_ROWS = 250

/** Writes the rows of log projections that result from a page, each from its own checkpoint on. */
const chronicler =
  (
    { log, views }: { readonly log: EventLog; readonly views: Views },
    chronicles: readonly LogProjection[],
    fitting: ReturnType<typeof oversizedRows>,
    reached: () => Checkpoints,
    onStep: () => void,
  ) =>
  async (page: readonly Stored[]): Promise<void> => {
    for (const chronicle of chronicles) {
      const from = reached().get(chronicle)!
      const beyond = page.filter(({ position }) => position > from.position)
      if (beyond.length === 0) continue
      const find = <D extends object>(keys: readonly string[]) => views.getMany<D>(chronicle, keys)
      const rows = await chronicle.rowsOf({ log, find }, from, beyond)
      if (rows.length > 0) await fitting.put(chronicle, rows)
      onStep()
    }
  }

export type RowWriterOptions = {
  readonly clock: Clock
  readonly log: EventLog
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  readonly chronicles?: readonly LogProjection[]
  /** The newest row of a stream's document, if memory holds it. */
  readonly newest: (projection: AnyProjection, stream: string) => Row | undefined
}

/** Writes the rows that result from a page of the log, and those of the log projections. */
export const rowWriter = (
  options: RowWriterOptions,
  fitting: ReturnType<typeof oversizedRows>,
  reached: () => Checkpoints,
  onStep: () => void,
) => {
  const { log, views, projections, chronicles = [], newest } = options

  /** Rows that memory does not hold: the stored rows with the events applied. */
  const folded = async (projection: AnyProjection, documents: ReadonlyMap<string, readonly Stored[]>) => {
    const stored = new Map((await views.getMany(projection, [...documents.keys()])).map((row) => [row.key, row]))
    const rows: Row[] = []
    for (const [key, events] of documents) {
      const row = stored.get(key)
      // A row that another version could not read is computed from its first event, because this version may read it.
      const readable = row?.unreadable ? undefined : row
      if (readable && readable.revision >= events.at(-1)!.revision) fitting.holds(projection, key)
      else rows.push(await foldRow(options, projection, events, readable))
      onStep()
    }
    return rows
  }
  const rowsOf = async (projection: AnyProjection, documents: ReadonlyMap<string, readonly Stored[]>) => {
    const rows: Row[] = []
    const others = new Map<string, readonly Stored[]>()
    for (const [key, events] of documents) {
      const row = newest(projection, events[0]!.stream)
      if (row && !row.unreadable && row.revision >= events.at(-1)!.revision) rows.push(row)
      else others.set(key, events)
    }
    return others.size === 0 ? rows : [...rows, ...(await folded(projection, others))]
  }

  const writeChronicles = chronicler({ log, views }, chronicles, fitting, reached, onStep)
  return async (page: readonly Stored[]): Promise<void> => {
    const streams = byStream(page)
    for (const projection of projections) {
      const documents = new Map<string, readonly Stored[]>()
      for (const [stream, all] of streams) {
        if (!stream.startsWith(`${projection.category}-`)) continue
        const events = all.slice(0, all.findLastIndex((event) => !areQuiet(projection, [event])) + 1)
        if (events.length > 0) documents.set(keyOf(projection, stream), events)
      }
      if (documents.size === 0) continue
      const rows = await rowsOf(projection, documents)
      for (let n = 0; n < rows.length; n += STEP_ROWS) {
        await fitting.put(projection, rows.slice(n, n + STEP_ROWS))
        onStep()
      }
    }
    await writeChronicles(page)
  }
}

/** Events after a position that the reader advances: from memory if kept there, from the log otherwise. */
export const pagesBehind = async function* (
  { log, recent }: { readonly log: EventLog; readonly recent: RecentEvents },
  position: () => bigint,
  to: bigint,
) {
  for (;;) {
    const before = position()
    if (before < recent.start()) yield* log.readAll(before, recent.start())
    else yield* [recent.after(before, to)].filter(({ length }) => length > 0)
    if (position() === before) return
  }
}
