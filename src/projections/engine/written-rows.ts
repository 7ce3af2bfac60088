import type { Clock } from '../../base/clock.ts'
import { eachTogether, partsOf } from '../../base/concurrency.ts'
import { isRefusal } from '../../base/errors.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { LogProjection, ReadModel } from '../history/log-marks.ts'
import { type AnyProjection, areQuiet } from '../projection.ts'
import type { Checkpoint, Row, Views } from '../views.ts'
import type { Checkpoints } from './checkpoints.ts'
import { byStream, foldRow, keyOf } from './fold-rows.ts'
import type { RecentEvents } from './recent-events.ts'

const nameOf = ({ name }: ReadModel, key: string) => `${name} ${key}`

/**
 * Writes rows and skips those that the views refuse as too large. Records each skipped document with the checkpoint that its view
 * had reached.
 */
export const oversizedRows = (
  views: Pick<Views, 'put'>,
  reached: () => Checkpoints,
  onError: (error: unknown) => void,
  name: () => Promise<void> = async () => undefined,
) => {
  const refused = new Map<string, { readonly projection: ReadModel; readonly checkpoint: Checkpoint | undefined }>()

  const holds = (projection: ReadModel, key: string): void => void refused.delete(nameOf(projection, key))

  const refuse = (projection: ReadModel, key: string, cause: unknown) => {
    const name = nameOf(projection, key)
    if (refused.has(name)) return
    refused.set(name, { projection, checkpoint: reached().get(projection) })
    onError(new Error(`${name} is larger than a read model accepts, so lists show its earlier state`, { cause }))
  }

  /** Writes the rows that fit, and returns them. A row that is too large is skipped and reported once. */
  const put = async (projection: ReadModel, rows: readonly Row[]): Promise<readonly Row[]> => {
    try {
      await name()
      await views.put(projection, rows)
    } catch (error) {
      if (!isRefusal(error, 'body_too_large')) throw error
      const [row, ...others] = rows
      if (others.length === 0) {
        refuse(projection, row!.key, error)
        return []
      }
      const fitting: Row[] = []
      for (const one of rows) fitting.push(...(await put(projection, [one])))
      return fitting
    }
    if (refused.size > 0) for (const { key } of rows) holds(projection, key)
    return rows
  }

  return {
    put,
    /** Records that the views hold the current row of this document. */
    holds,
    /** Limits each checkpoint to the first skipped document of its view, so that a start from there reads its events again. */
    behind: (all: Checkpoints): Checkpoints => {
      const behind = new Map(all)
      for (const { projection, checkpoint } of [...refused.values()].toReversed())
        if (checkpoint) behind.set(projection, checkpoint)
      return behind
    },
    forget: (): void => refused.clear(),
    count: (): number => refused.size,
  }
}

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
    await eachTogether(chronicles, async (chronicle) => {
      const from = reached().get(chronicle)!
      const beyond = page.filter(({ position }) => position > from.position)
      if (beyond.length === 0) return
      const find = <D extends object>(keys: readonly string[]) => views.getMany<D>(chronicle, keys)
      const rows = await chronicle.rowsOf({ log, find }, from, beyond)
      if (rows.length > 0) await fitting.put(chronicle, rows)
      onStep()
    })
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
    const write = async (projection: AnyProjection) => {
      const documents = new Map<string, readonly Stored[]>()
      for (const [stream, all] of streams) {
        if (!stream.startsWith(`${projection.category}-`)) continue
        const events = all.slice(0, all.findLastIndex((event) => !areQuiet(projection, [event])) + 1)
        if (events.length > 0) documents.set(keyOf(projection, stream), events)
      }
      if (documents.size === 0) return
      const rows = await rowsOf(projection, documents)
      for (const part of partsOf(rows, STEP_ROWS)) {
        await fitting.put(projection, part)
        onStep()
      }
    }
    // The views are apart from each other, and a far store answers for all of them in one round trip.
    await Promise.all([eachTogether(projections, write), writeChronicles(page)])
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
