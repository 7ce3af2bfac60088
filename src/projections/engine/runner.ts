import type { Clock } from '../../base/clock.ts'
import { eachTogether } from '../../base/concurrency.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { unreadableOf } from '../../events/unreadable.ts'
import type { LogProjection, ReadModel } from '../history/log-marks.ts'
import { type AnyProjection, project } from '../projection.ts'
import { type Checkpoint, type Row, supersedes, type View, type Views } from '../views.ts'
import { START } from './checkpoints.ts'
import { byStream } from './fold-rows.ts'
import type { Anchor } from './log-guard.ts'
import { type Filled, loadMemory, type MemoryOptions, type Met, memory } from './memory.ts'
import { positionWaiters } from './position-waiters.ts'
import { type Progress, rebuild } from './rebuild.ts'
import { recentEvents } from './recent-events.ts'
import { RETRY_MS, viewWriter } from './view-writer.ts'

/**
 * Computes the row of an unreadable document from its stream, because this version may be able to read it. Returns the
 * stored row if it cannot.
 */
const refolded = async (log: Pick<EventLog, 'read'>, projection: AnyProjection, closed: Row): Promise<Row> => {
  let row: Row | undefined
  try {
    for await (const page of log.read(`${projection.category}-${closed.key}`))
      for (const event of page) row = project(projection, row, event)
  } catch (error) {
    if (!unreadableOf(error)) throw error
  }
  return row && (row.revision > closed.revision || !row.unreadable) ? row : closed
}

/**
 * Returns readable rows unchanged, and computes unreadable ones again. Rows that are readable again are written to the
 * views.
 */
export const reopenRows =
  (log: Pick<EventLog, 'read'>, views: Pick<Views, 'put'>, onError: (error: unknown) => void) =>
  async (projection: AnyProjection, row: Row): Promise<Row> => {
    if (!row.unreadable) return row
    const now = await refolded(log, projection, row)
    if (supersedes(now, row)) await views.put(projection, [now]).catch(onError)
    return now
  }

type Reached = (view: View, position: bigint, withinMs: number) => Promise<boolean>

/**
 * Checks whether the views hold every event that was in the log at the start. Once the result is true, it stays true.
 */
const catchUp = (views: readonly View[], reached: Reached) => {
  let wanted: bigint | undefined
  let done = false
  return {
    /** Stores the end of the log at the start. */
    begin: (head: bigint): void => void (wanted = head),
    done: async (): Promise<boolean> => {
      if (done || wanted === undefined) return done
      const [head] = [wanted]
      const all = await Promise.all(views.map((view) => reached(view, head, 0)))
      done = all.every(Boolean)
      return done
    },
  }
}

type RunnerOptions = MemoryOptions &
  Filled & {
    readonly views: Views
    /** Read models of the log itself. */
    readonly chronicles?: readonly LogProjection[]
    readonly writes?: () => boolean
    readonly onError: (error: unknown) => void
    readonly onLost?: (error: unknown) => void
    readonly has?: (anchor: Anchor) => Promise<boolean>
    /** Restores memory from a snapshot, if there is one. */
    readonly restore?: () => Promise<Remembered | undefined>
  }

/**
 * State of memory: it has every event up to `position`, and later events of the streams in `ahead`. `events`: number of
 * events up to `position`.
 */
export type Remembered = { readonly position: bigint; readonly events: number; readonly ahead: readonly Met[] }

/** Builds missing views, or waits until the writing instance has built them. Returns the least checkpoint, and whether any view was built. */
const built = async (
  options: RunnerOptions & Required<Pick<RunnerOptions, 'writes'>>,
  onProgress?: (progress: Progress) => void,
): Promise<{ readonly checkpoint: Checkpoint; readonly anew: boolean }> => {
  const { clock, log, views, projections, chronicles = [], writes } = options
  for (let anew = false; ; anew = true) {
    const all: readonly ReadModel[] = [...projections, ...chronicles]
    const stored = await Promise.all(all.map(views.checkpoint))
    const missing = all.filter((_, n) => stored[n] === undefined)
    const found = stored.filter((each) => each !== undefined)
    if (missing.length === 0)
      return { checkpoint: found.reduce((least, each) => (each.position < least.position ? each : least)), anew }
    if (!writes()) await clock.sleep(RETRY_MS)
    else if ((await log.head()) > 0n) await rebuild(options, missing, onProgress)
    else await eachTogether(missing, (each) => views.mark(each, undefined, START))
  }
}

/** Follows the log from `from()` until the signal aborts, and passes each page to `take` in order. */
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

/** Number of events that the view furthest behind lacks. */
const lagOf = async (views: Views, projections: readonly AnyProjection[], followed: number): Promise<number> => {
  const checkpoints = await Promise.all(projections.map(views.checkpoint))
  return Math.max(0, ...checkpoints.map((checkpoint) => followed - (checkpoint?.events ?? 0)))
}

/** Progress of memory in the log: the position, the event there, and the number of events up to it. */
const followProgress = (clock: Clock, reach: ReturnType<typeof memory>['reach']) => {
  const known = positionWaiters(clock)
  let events = 0
  let last: Anchor = { position: 0n, event: '' }
  const reached = (position: bigint, page: readonly Stored[] = []) => {
    reach(position, page)
    known.advance(position)
  }
  return {
    position: known.reached,
    waitFor: known.waitFor,
    events: (): number => events,
    counted: () => ({ position: known.reached(), events }),
    last: (): Anchor => last,
    /** Sets the number of events that memory is loaded with. */
    count: (loaded: number): void => void (events = loaded),
    begin: (anchor: Anchor): void => {
      last = anchor
      reached(anchor.position)
    },
    advance: (page: readonly Stored[]): void => {
      events += page.length
      const { position, id } = page.at(-1)!
      last = { position, event: id }
      reached(position, page)
    },
  }
}

/** Keeps memory and views up to date: builds missing views, applies this instance's own events at once, and follows the log. */
export const runner = (given: RunnerOptions) => {
  const options = { writes: () => true, ...given }
  const { clock, log, views, projections, writes } = options
  const { applied, applyFollowed, reach, ahead, restored, newest } = memory(options)
  const recent = recentEvents(clock, writes)
  const writer = viewWriter({ ...options, recent, newest })
  // Requests search these views. Documents of other views are read from memory.
  const searched = projections.filter(({ fields }) => fields.length > 0)
  const caughtUp = catchUp(searched, writer.reached)
  const progress = followProgress(clock, reach)
  const healed = reopenRows(log, views, options.onError)
  const stop = new AbortController()
  let running: Promise<void> = Promise.resolve()

  const take = async (page: readonly Stored[]) => {
    for (const [stream, events] of byStream(page)) await applyFollowed(stream, events)
    recent.add(page)
    progress.advance(page)
  }

  /** Loads memory from its snapshot or from the read models. Returns the position reached, and whether it came from a snapshot (`before`). */
  const filled = async (onProgress?: (progress: Progress) => void) => {
    const { checkpoint, anew } = await built(options, onProgress)
    const before = anew ? undefined : await options.restore?.()
    if (before) {
      restored(before.ahead)
      progress.count(before.events)
      return { from: before.position, before: true }
    }
    const head = await log.head()
    const upTo = checkpoint.position < head ? checkpoint.position : head
    progress.count(checkpoint.events)
    await loadMemory({ log, views, projections, upTo, onProgress }, options, healed)
    return { from: upTo, before: false }
  }

  return {
    /** Builds missing views, loads memory, and starts to follow. Resolves once memory holds all events of the log, with the position of the snapshot, if one was restored. */
    start: async (onProgress?: (progress: Progress) => void): Promise<bigint | undefined> => {
      const { from, before } = await filled(onProgress)
      const head = await log.head()
      caughtUp.begin(head)
      const event = from > 0n ? ((await log.at(from))?.id ?? '') : ''
      recent.begin(from)
      progress.begin({ position: from, event })
      running = follow(progress.position, take, options, stop.signal)
      writer.start()
      while (!(await progress.waitFor(head, 1_000))) if (stop.signal.aborted) break
      return before ? from : undefined
    },

    /** Applies own events, and returns the rows after them. */
    applied,
    seen: progress.waitFor,
    remembered: (): Remembered => ({ position: progress.position(), events: progress.events(), ahead: ahead() }),
    followed: progress.last,
    /** Positions that memory and the writer of the read models have reached. */
    position: progress.position,
    counted: progress.counted,
    viewPosition: writer.position,
    viewsAdvance: writer.advancing,
    viewsReached: writer.reached,
    refusedRows: writer.refused,
    /** Resolves to true once the views hold every event that was in the log at the start. */
    caughtUp: caughtUp.done,
    /** Number of events by which the views are behind memory. */
    viewLag: (): Promise<number> => lagOf(views, projections, progress.events()),
    /** Stops writing to the views, because memory does not fit the log. */
    abandon: writer.abandon,
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await writer.close()
    },
  }
}
