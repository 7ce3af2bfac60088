import type { Clock } from '../../clock.ts'
import { batched } from '../../concurrency.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { LogProjection } from '../history/log-projection.ts'
import { type AnyProjection, areQuiet } from '../projection.ts'
import type { Row, Views } from '../views.ts'
import type { Checkpoints } from './checkpoints.ts'
import { byStream, foldRow, keyOf, revisionTracker } from './fold-rows.ts'
import type { oversizedRows } from './oversized-rows.ts'
import type { RecentEvents } from './recent-events.ts'

/** Rows written in one go: a step that a slow store takes well within the time that one may take. */
const STEP_ROWS = 250

/** Writes rows that this instance made itself, those that wait for others in one go; what fails comes back from the log. */
export const ownRows = (
  fitting: ReturnType<typeof oversizedRows>,
  projections: readonly AnyProjection[],
  onError: (error: unknown) => void,
) => {
  const ownOf = (projection: AnyProjection) => {
    // One for each read model: several share a stream, and the row of one may be written where that of another is not.
    const written = revisionTracker()
    const write = async (rows: readonly Row[]) => {
      try {
        for (const { key, revision, position } of await fitting.put(projection, rows))
          written.record({ stream: `${projection.category}-${key}`, revision, position })
      } catch (error) {
        onError(error)
      }
    }
    return { written, put: batched<Row>(write) }
  }
  const all = new Map(projections.map((projection) => [projection, ownOf(projection)]))
  return {
    /** True when the row of the read model after these events of a stream was written here. */
    has: (projection: AnyProjection, events: readonly Stored[]): boolean => all.get(projection)!.written.has(events),
    forget: (position: bigint): void => {
      for (const { written } of all.values()) written.forget(position)
    },
    put: (projection: AnyProjection, row: Row): Promise<void> => all.get(projection)!.put(row),
  }
}

/** Writes the rows of chronicles that come of a stretch of the log, each from where its checkpoint stands. */
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

/** Writes the rows of a stretch of the log that no instance has written, and those of the chronicles. */
export const missingWriter = (
  options: {
    readonly clock: Clock
    readonly log: EventLog
    readonly views: Views
    readonly projections: readonly AnyProjection[]
    readonly chronicles?: readonly LogProjection[]
  },
  fitting: ReturnType<typeof oversizedRows>,
  isOwn: (projection: AnyProjection, events: readonly Stored[]) => boolean,
  reached: () => Checkpoints,
  onStep: () => void,
) => {
  const { log, views, projections, chronicles = [] } = options
  const missing = async (projection: AnyProjection, mine: ReadonlyMap<string, readonly Stored[]>) => {
    const present = new Map((await views.getMany(projection, [...mine.keys()])).map((row) => [row.key, row]))
    const rows: Row[] = []
    for (const [key, events] of mine) {
      const row = present.get(key)
      // What another version closed is folded anew: it may be readable here.
      const there = row?.unreadable ? undefined : row
      if (there && there.revision >= events.at(-1)!.revision) fitting.holds(projection, key)
      else rows.push(await foldRow(options, projection, events, there))
      onStep()
    }
    return rows
  }
  const writeChronicles = chronicler({ log, views }, chronicles, fitting, reached, onStep)
  return async (page: readonly Stored[]): Promise<void> => {
    const streams = byStream(page)
    for (const projection of projections) {
      const mine = new Map<string, readonly Stored[]>()
      for (const [stream, all] of streams) {
        if (!stream.startsWith(`${projection.category}-`)) continue
        const events = all.slice(0, all.findLastIndex((event) => !areQuiet(projection, [event])) + 1)
        if (events.length > 0 && !isOwn(projection, events)) mine.set(keyOf(projection, stream), events)
      }
      if (mine.size === 0) continue
      const rows = await missing(projection, mine)
      for (let n = 0; n < rows.length; n += STEP_ROWS) {
        await fitting.put(projection, rows.slice(n, n + STEP_ROWS))
        onStep()
      }
    }
    await writeChronicles(page)
  }
}

/** What lies behind a position that its reader moves on: from memory where it is kept there, else from the log. */
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
