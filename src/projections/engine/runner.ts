import type { Stored } from '../../events/log.ts'
import type { LogProjection, ReadModel } from '../history/log-projection.ts'
import { type AnyProjection, type RowOf, rowOf } from '../projection.ts'
import type { Checkpoint, Row, Views } from '../views.ts'
import { catchUp } from './caught-up.ts'
import { START } from './checkpoints.ts'
import { byStream, type Met } from './fold-rows.ts'
import { type Filled, loadMemory } from './load-memory.ts'
import type { Anchor } from './log-guard.ts'
import { type MemoryOptions, memory } from './memory.ts'
import { positionWaiters } from './position-waiters.ts'
import { type Progress, rebuild } from './rebuild.ts'
import { recentEvents } from './recent-events.ts'
import { reopenRows } from './reopen-rows.ts'
import { RETRY_MS, viewWriter } from './view-writer.ts'

type RunnerOptions = MemoryOptions &
  Filled & {
    readonly views: Views
    /** Read models of the log itself, which are kept with the others. */
    readonly chronicles?: readonly LogProjection[]
    readonly writes?: () => boolean
    readonly onError: (error: unknown) => void
    readonly onLost?: (error: unknown) => void
    readonly has?: (anchor: Anchor) => Promise<boolean>
    /** Fills memory as it was at a position behind the start of the log, unless there is nothing to do that with. */
    readonly restore?: () => Promise<Remembered | undefined>
  }

/** Memory holds every event up to a position, of some streams events ahead of it too; `events`: how many events of the log that is. */
export type Remembered = { readonly position: bigint; readonly events: number; readonly ahead: readonly Met[] }

/** Sees to it that the views are built, by this instance or by the one that writes; gives the checkpoint of the one that is furthest behind, and whether any was built. */
const built = async (
  options: RunnerOptions & Required<Pick<RunnerOptions, 'writes'>>,
  onProgress?: (progress: Progress) => void,
): Promise<{ readonly checkpoint: Checkpoint; readonly anew: boolean }> => {
  const { clock, log, views, projections, chronicles = [], writes } = options
  for (let anew = false; ; anew = true) {
    const missing: ReadModel[] = []
    const found: Checkpoint[] = []
    for (const projection of [...projections, ...chronicles]) {
      const checkpoint = await views.checkpoint(projection)
      if (checkpoint) found.push(checkpoint)
      else missing.push(projection)
    }
    if (missing.length === 0)
      return { checkpoint: found.reduce((least, each) => (each.position < least.position ? each : least)), anew }
    if (!writes()) await clock.sleep(RETRY_MS)
    else if ((await log.head()) > 0n) await rebuild(options, missing, onProgress)
    else for (const projection of missing) await views.mark(projection, undefined, START)
  }
}

/** Follows the log for memory until the signal aborts; `take` is given each page, in order, from behind `from()` on. */
const follow = async (
  from: () => bigint,
  take: (page: readonly Stored[]) => Promise<void>,
  { clock, log, onError }: Pick<RunnerOptions, 'clock' | 'log' | 'onError'>,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      for await (const page of log.follow(from(), signal)) await take(page)
    } catch (error) {
      onError(error)
    }
    if (!signal.aborted) await clock.sleep(RETRY_MS, signal)
  }
}

/** How many events the view that is furthest behind lacks of so many. */
const lagOf = async (views: Views, projections: readonly AnyProjection[], followed: number): Promise<number> => {
  let lag = 0
  for (const projection of projections) {
    const checkpoint = await views.checkpoint(projection)
    lag = Math.max(lag, followed - (checkpoint?.events ?? 0))
  }
  return lag
}

/** The views that requests search; documents of the others are asked of memory alone. */
const searchedOf = (projections: readonly AnyProjection[]) => projections.filter(({ fields }) => fields.length > 0)

/** Keeps memory and views behind the log: builds what is missing, applies this instance's own events at once, and follows the log for all others. */
export const runner = (given: RunnerOptions) => {
  const options = { writes: () => true, ...given }
  const { clock, log, views, projections, writes } = options
  const { applyOwn, applyFollowed, reach, ahead, restored, newest } = memory(options)
  const recent = recentEvents(clock, writes)
  const writer = viewWriter({ ...options, recent, newest })
  const caughtUp = catchUp(searchedOf(projections), writer.reached)
  const known = positionWaiters(clock)
  const healed = reopenRows(log, views, options.onError)
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()
  /** Events of the log up to the position that memory has reached. */
  let followed = 0

  /** The last event that was followed. */
  let last: Anchor = { position: 0n, event: '' }

  const reached = (position: bigint, page: readonly Stored[] = []) => {
    reach(position, page)
    known.advance(position)
  }
  const take = async (page: readonly Stored[]) => {
    for (const [stream, events] of byStream(page)) await applyFollowed(stream, events)
    recent.add(page)
    followed += page.length
    const { position, id } = page.at(-1)!
    last = { position, event: id }
    reached(position, page)
  }

  /** Fills memory, from what it was before or from the read models; gives the position up to which it holds every event, and whether it was what it was before. */
  const filled = async (onProgress?: (progress: Progress) => void) => {
    const { checkpoint, anew } = await built(options, onProgress)
    const before = anew ? undefined : await options.restore?.()
    if (before) {
      restored(before.ahead)
      followed = before.events
      return { from: before.position, before: true }
    }
    const head = await log.head()
    const upTo = checkpoint.position < head ? checkpoint.position : head
    followed = checkpoint.events
    await loadMemory({ log, views, projections, upTo, onProgress }, options, healed)
    return { from: upTo, before: false }
  }

  return {
    /** Builds what was never built, fills memory, and starts to follow. Resolves when this instance knows all that was in the log, with the position that memory was restored at, if it was. */
    start: async (onProgress?: (progress: Progress) => void): Promise<bigint | undefined> => {
      const { from, before } = await filled(onProgress)
      const head = await log.head()
      caughtUp.begin(head)
      last = { position: from, event: from > 0n ? ((await log.at(from))?.id ?? '') : '' }
      recent.begin(from)
      reached(from)
      running = follow(known.reached, take, options, stop.signal)
      writer.start()
      while (!(await known.waitFor(head, 1_000))) if (stop.signal.aborted) break
      return before ? from : undefined
    },

    /**
     * Applies events that this instance has just appended to memory; gives the newest rows of their documents. Every later read of memory
     * sees them. The view writer writes their rows when it follows the log, so the request does not wait for the views.
     */
    applied: async (events: readonly Stored[]): Promise<RowOf> => {
      const all: (readonly [AnyProjection, Row])[] = []
      for (const [stream, own] of byStream(events)) {
        all.push(...(await applyOwn(stream, own)))
      }
      return rowOf(all)
    },

    seen: known.waitFor,
    /** What memory holds just now. */
    remembered: (): Remembered => ({ position: known.reached(), events: followed, ahead: ahead() }),
    followed: (): Anchor => last,
    /** Position up to which memory here holds every event, and up to which this instance has seen to the views. */
    position: known.reached,
    viewPosition: writer.position,
    viewsAdvance: writer.advancing,
    viewsReached: writer.reached,
    refusedRows: writer.refused,
    /** True once the views hold every event that was in the log at the start. */
    caughtUp: caughtUp.done,
    /** How many events the views are behind what memory here has followed. */
    viewLag: (): Promise<number> => lagOf(views, projections, followed),
    /** Writes no more to the views: what is known here is not what the log says. */
    abandon: writer.abandon,
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await writer.close()
    },
  }
}
