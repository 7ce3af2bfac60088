import { pause } from '../../concurrency.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { type AnyProjection, type RowOf, rowOf } from '../projection.ts'
import type { Checkpoint, Row, Views } from '../views.ts'
import { arrivals } from './arrivals.ts'
import { START } from './checkpoints.ts'
import { type Filled, fill } from './fill.ts'
import { byStream } from './fold-rows.ts'
import { healer } from './heal.ts'
import { memory, type MemoryOptions } from './memory.ts'
import { type Progress, rebuild } from './rebuild.ts'
import { recentEvents } from './recent-events.ts'
import { viewWriter } from './view-writer.ts'

export type RunnerOptions = MemoryOptions &
  Filled & {
    readonly views: Views
    readonly writes?: () => boolean
    readonly onError: (error: unknown) => void
    readonly retryMs?: number
    readonly laterMs?: number
  }

/** Sees to it that the views are built, by this instance or by the one that writes; gives the checkpoint of the one that is furthest behind. */
const built = async (
  { log, views, projections, writes, retryMs }: RunnerOptions & Required<Pick<RunnerOptions, 'writes' | 'retryMs'>>,
  onProgress?: (progress: Progress) => void,
): Promise<Checkpoint> => {
  for (;;) {
    const missing: AnyProjection[] = []
    const found: Checkpoint[] = []
    for (const projection of projections) {
      const checkpoint = await views.checkpoint(projection)
      if (checkpoint) found.push(checkpoint)
      else missing.push(projection)
    }
    if (missing.length === 0) return found.reduce((least, each) => (each.position < least.position ? each : least))
    if (!writes()) await pause(retryMs)
    else if ((await log.head()) > 0n) await rebuild(log, views, missing, onProgress)
    else for (const projection of missing) await views.mark(projection, undefined, START)
  }
}

/** Follows the log for memory until the signal aborts; `take` is given each page, in order, from behind `from()` on. */
const follow = async (
  log: EventLog,
  from: () => bigint,
  take: (page: readonly Stored[]) => Promise<void>,
  { onError, retryMs }: Required<Pick<RunnerOptions, 'onError' | 'retryMs'>>,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      for await (const page of log.follow(from(), signal)) await take(page)
    } catch (error) {
      onError(error)
    }
    if (!signal.aborted) await pause(retryMs, signal)
  }
}

/** Keeps memory and views behind the log: builds what is missing, applies this instance's own events at once, and follows the log for all others. */
export const runner = (given: RunnerOptions) => {
  const options = { writes: () => true, retryMs: 250, laterMs: 100, ...given }
  const { log, views, projections, writes } = options
  const { applyOwn, applyFollowed, reach } = memory(options)
  const recent = recentEvents(writes)
  const writer = viewWriter({ ...options, recent })
  const known = arrivals()
  const healed = healer(log, views, options.onError)
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  /** Events of the log up to the position that memory has reached. */
  let followed = 0

  const reached = (position: bigint) => {
    reach(position)
    writer.followed(position)
    known.reach(position)
  }
  const take = async (page: readonly Stored[]) => {
    for (const [stream, events] of byStream(page)) await applyFollowed(stream, events)
    recent.add(page)
    followed += page.length
    reached(page.at(-1)!.position)
  }

  return {
    /** Builds what was never built, fills memory, and starts to follow. Resolves when this instance knows all that was in the log. */
    start: async (onProgress?: (progress: Progress) => void): Promise<void> => {
      const checkpoint = await built(options, onProgress)
      await fill(views, projections, options, healed)
      const head = await log.head()
      const from = checkpoint.position < head ? checkpoint.position : head
      followed = checkpoint.events
      recent.begin(from)
      reached(from)
      running = follow(log, known.reached, take, options, stop.signal)
      writer.start()
      while (!(await known.seen(head, 1_000))) if (stop.signal.aborted) return
    },

    /**
     * Applies events that this instance has just appended; gives the newest rows of their documents. Resolves when every later read here
     * sees them. Memory does not wait for views that are slow or away: they take rows in any order.
     */
    applied: async (events: readonly Stored[]): Promise<RowOf> => {
      const all: (readonly [AnyProjection, Row])[] = []
      for (const [stream, own] of byStream(events)) {
        const rows = await applyOwn(stream, own)
        for (const [projection, row] of rows) await writer.put(projection, row, own)
        all.push(...rows)
      }
      return rowOf(all)
    },

    seen: known.seen,
    /** Position up to which memory here holds every event, and up to which this instance has seen to the views. */
    position: known.reached,
    viewPosition: writer.position,
    viewsAdvance: writer.advancing,
    viewsReached: writer.reached,
    refusedRows: writer.refused,
    /** How many events the views are behind what memory here has followed. */
    viewLag: async (): Promise<number> => {
      let lag = 0
      for (const projection of projections) {
        const checkpoint = await views.checkpoint(projection)
        lag = Math.max(lag, followed - (checkpoint?.events ?? 0))
      }
      return lag
    },
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await writer.close()
    },
  }
}
