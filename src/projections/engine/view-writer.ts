import { markedSoon, MARK_MS } from './marks.ts'
import { gathered, pause } from '../../concurrency.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type AnyProjection, areQuiet } from '../projection.ts'
import type { Row, Views } from '../views.ts'
import { checkpointsOf, leastPosition } from './checkpoints.ts'
import { fittingRows } from './fitting-rows.ts'
import { byStream, foldRow, keyOf, revisionTracker } from './fold-rows.ts'
import type { RecentEvents } from './recent-events.ts'
import { tended } from './tended.ts'
import { turn } from './turn.ts'

export type ViewWriterOptions = {
  readonly log: EventLog
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** What memory was given of the log lately: read from there, an event is not read twice. */
  readonly recent: RecentEvents
  /** True while this instance is the one that sees to the views; two at once do no harm. */
  readonly writes: () => boolean
  readonly onError: (error: unknown) => void
  readonly retryMs: number
  /** Age at which an event is looked at: the instance that appended it writes its row at once, so by then that is done. */
  readonly laterMs: number
}

/** Writes rows that this instance made itself, those that wait for others in one go; what fails comes back from the log. */
const ownRows = (
  fitting: ReturnType<typeof fittingRows>,
  projections: readonly AnyProjection[],
  onError: (error: unknown) => void,
) => {
  const written = revisionTracker()
  const write = async (projection: AnyProjection, rows: readonly Row[]) => {
    try {
      for (const { key, revision, position } of await fitting.put(projection, rows))
        written.record({ stream: `${projection.category}-${key}`, revision, position })
    } catch (error) {
      onError(error)
    }
  }
  const groups = new Map(projections.map((each) => [each, gathered<Row>((rows) => write(each, rows))]))
  return {
    /** True when the row of these events was written here. */
    has: written.has,
    forget: written.forget,
    put: (projection: AnyProjection, row: Row): Promise<void> => groups.get(projection)!(row),
  }
}

/** Writes the rows of a stretch of the log that no instance has written. */
const missingWriter = (
  { log, views, projections }: ViewWriterOptions,
  fitting: ReturnType<typeof fittingRows>,
  isOwn: (events: readonly Stored[]) => boolean,
  onStep: () => void,
) => {
  const missing = async (projection: AnyProjection, mine: ReadonlyMap<string, readonly Stored[]>) => {
    const present = new Map((await views.getMany(projection, [...mine.keys()])).map((row) => [row.key, row]))
    const rows: Row[] = []
    for (const [key, events] of mine) {
      const row = present.get(key)
      // What another version closed is folded anew: it may be readable here.
      const there = row?.unreadable ? undefined : row
      if (there && there.revision >= events.at(-1)!.revision) fitting.holds(projection, key)
      else rows.push(await foldRow(log, projection, events, there))
      onStep()
    }
    return rows
  }
  return async (page: readonly Stored[]): Promise<void> => {
    const streams = byStream(page)
    for (const projection of projections) {
      const mine = new Map<string, readonly Stored[]>()
      for (const [stream, all] of streams) {
        if (!stream.startsWith(`${projection.category}-`)) continue
        const events = all.slice(0, all.findLastIndex((event) => !areQuiet(projection, [event])) + 1)
        if (events.length > 0 && !isOwn(events)) mine.set(keyOf(projection, stream), events)
      }
      if (mine.size === 0) continue
      const rows = await missing(projection, mine)
      if (rows.length > 0) await fitting.put(projection, rows)
      onStep()
    }
  }
}

/** What lies behind the position, up to another: from memory where it is kept there, else from the log. */
const pagesBehind = ({ log, recent }: ViewWriterOptions, position: () => bigint) =>
  async function* (to: bigint) {
    for (;;) {
      const before = position()
      if (before < recent.start()) yield* log.readAll(before, recent.start())
      else yield* [recent.after(before, to)].filter(({ length }) => length > 0)
      if (position() === before) return
    }
  }

/**
 * The safety net of the views: follows the log from their own checkpoint and writes the rows that no instance wrote.
 * Views out of reach stop nothing but this.
 */
export const viewWriter = (options: ViewWriterOptions) => {
  const { views, projections, recent, writes, onError, retryMs, laterMs } = options
  const stop = new AbortController()
  let position = 0n
  let running: Promise<void> = Promise.resolve()
  const checkpoints = checkpointsOf(views, projections)
  const fitting = fittingRows(views, checkpoints.reached, onError)
  const own = ownRows(fitting, projections, onError)
  const progress = tended(views, writes)
  const { begin, step, done, advancing } = turn()
  const writeMissing = missingWriter(options, fitting, own.has, step)

  const mark = () => checkpoints.mark(fitting.behind(checkpoints.reached()))

  const pages = pagesBehind(options, () => position)

  const stand = (at: bigint) => {
    position = at
    progress.stand(at)
  }

  const followOnce = async () => {
    begin()
    await checkpoints.load()
    stand(leastPosition(checkpoints.reached()))
    fitting.forget()
    const marks = markedSoon(mark)
    while (writes()) {
      if (position >= recent.end()) done(false)
      const to = await recent.beyond(position, stop.signal, marks.since() > 0 ? MARK_MS : undefined)
      if (to > position) {
        begin()
        await progress.rest(laterMs, stop.signal)
      }
      for await (const page of pages(to)) {
        if (stop.signal.aborted) return
        await writeMissing(page)
        checkpoints.advance(page)
        stand(page.at(-1)!.position)
        done(true)
        own.forget(position)
        marks.written(page.length)
        await marks.mark()
      }
      if (stop.signal.aborted) return
      await marks.mark()
    }
  }

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        if (writes()) await followOnce()
      } catch (error) {
        onError(error)
      }
      if (!writes()) done(false)
      if (!stop.signal.aborted) await pause(retryMs, stop.signal)
    }
  }

  return {
    start: (): void => {
      running = run()
    },
    /** Writes the row that this instance made of these events of its own, unless they leave it as it is. */
    put: async (projection: AnyProjection, row: Row, events: readonly Stored[]): Promise<void> => {
      if (!areQuiet(projection, events)) await own.put(projection, row)
    },
    /** Memory holds every event up to the position: without a turn at the views, nothing of own rows up to there need be known. */
    followed: (upTo: bigint): void => {
      if (!writes()) own.forget(upTo)
    },
    /** Resolves to true once the view holds every event up to the position, to false when that takes longer than the milliseconds given. */
    reached: progress.reached,
    /** False while this instance sees to the views and does not get on with it. */
    advancing,
    /** Position up to which this instance has seen to the views. */
    position: (): bigint => position,
    /** How many documents stay behind, by the instance that follows the log for the views. */
    refused: (): number => (writes() ? fitting.count() : 0),
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await mark().catch(onError)
    },
  }
}
