import type { Clock } from '../../base/clock.ts'
import { areLost, checkpointsOf, leastPosition } from './checkpoints.ts'
import type { Anchor } from './log-guard.ts'
import { viewProgress } from './position-waiters.ts'
import type { RecentEvents } from './recent-events.ts'
import { oversizedRows, pagesBehind, type RowWriterOptions, rowWriter } from './written-rows.ts'

/** Time in ms without a step after which the writer counts as stalled. With the delay of the lease it stays under 5 s. */
const STUCK_MS = 2_500

/** Detects a stalled writer of the read models. A step that is repeated after a fault does not count. */
export const stallDetector = ({ monotonic }: Clock) => {
  let busy = false
  let [steps, most] = [0, 0]
  let since = monotonic()
  return {
    /** Work begins, or continues. */
    begin: (): void => {
      if (!busy) since = monotonic()
      busy = true
      steps = 0
    },
    step: (): void => {
      if (++steps <= most) return
      most = steps
      since = monotonic()
    },
    /** A step of the work is complete. `more`: whether further work waits. */
    done: (more: boolean): void => {
      busy = more
      steps = most = 0
      since = monotonic()
    },
    advancing: (): boolean => !busy || monotonic() - since < STUCK_MS,
  }
}

/**
 * Number of events, and time in ms, after which the checkpoint is moved. A list on an instance without the lease waits
 * that long.
 */
const MARK_EVENTS = 1000
const MARK_MS = 250
/** Pause in ms before a retry after a fault. */
export const RETRY_MS = 250
/** Interval in ms at which an idle writer verifies the checkpoints. */
const LOOK_MS = 2000

const ABANDONED = 'abandoned'

type ViewWriterOptions = RowWriterOptions & {
  /** Recent events from the log: an event taken from here is not read twice. */
  readonly recent: RecentEvents
  /** True while this instance holds the lease of the views; two writers at once are harmless. */
  readonly writes: () => boolean
  readonly onError: (error: unknown) => void
  /**
   * Called once if the views are lost. Lost views are repaired only by a restart, and nothing is written until then.
   */
  readonly onLost?: (error: unknown) => void
  /** Set if other instances write the views too: whether the log has the event of a checkpoint. */
  readonly has?: (anchor: Anchor) => Promise<boolean>
}

/** Moves the checkpoints after `MARK_EVENTS` events or `MARK_MS` milliseconds. */
const pacedMarks = ({ monotonic }: Clock, mark: () => Promise<boolean>) => {
  let [since, at] = [0, monotonic()]
  const again = () => {
    ;[since, at] = [0, monotonic()]
  }
  return {
    now: mark,
    again,
    waits: (): boolean => since > 0,
    add: (events: number): void => void (since += events),
    /** Resolves to false if another writer has moved the checkpoints: continue from their new position. */
    soon: async (): Promise<boolean> => {
      if (since === 0 || (since < MARK_EVENTS && monotonic() - at < MARK_MS)) return true
      again()
      return mark()
    },
  }
}

/**
 * Writes all rows of the views: follows the log from the checkpoint of the views, in the instance that holds their
 * lease. No request waits for it; if the store of the views is unreachable, only this part stops.
 */
export const viewWriter = (options: ViewWriterOptions) => {
  const { clock, log, views, projections, recent, writes, onError, onLost = onError, has } = options
  const stop = new AbortController()
  let position = 0n
  let running: Promise<void> = Promise.resolve()
  const checkpoints = checkpointsOf(views, [...projections, ...(options.chronicles ?? [])], { has })
  const fitting = oversizedRows(views, checkpoints.reached, onError, () => checkpoints.name(log))
  const progress = viewProgress(clock, views, writes)
  const { begin, step, done, advancing } = stallDetector(clock)
  const writeRows = rowWriter(options, fitting, checkpoints.reached, step)

  const marks = pacedMarks(clock, () => checkpoints.mark(fitting.behind(checkpoints.reached())))
  const stand = (at: bigint) => {
    position = at
    progress.stand(at)
  }

  const followOnce = async () => {
    begin()
    await checkpoints.load()
    stand(leastPosition(checkpoints.reached()))
    fitting.forget()
    marks.again()
    while (writes()) {
      if (position >= recent.end()) done(false)
      const to = await recent.beyond(position, stop.signal, marks.waits() ? MARK_MS : LOOK_MS)
      if (stop.signal.aborted) return
      if (to > position) begin()
      else if (!marks.waits() && has && !(await checkpoints.stand())) return
      for await (const page of pagesBehind(options, () => position, to)) {
        if (stop.signal.aborted) return
        await writeRows(page)
        checkpoints.advance(page)
        stand(page.at(-1)!.position)
        done(true)
        marks.add(page.length)
        if (!(await marks.soon())) return
      }
      if (stop.signal.aborted || !(await marks.soon())) return
    }
  }

  const abandon = () => stop.abort(ABANDONED)
  const abandoned = () => stop.signal.reason === ABANDONED

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        if (writes()) await followOnce()
      } catch (error) {
        if (areLost(error)) abandon()
        const tell = areLost(error) ? onLost : onError
        tell(error)
      }
      if (!writes()) done(false)
      if (!stop.signal.aborted) await clock.sleep(RETRY_MS, stop.signal)
    }
  }

  return {
    /** Stops all writes, including checkpoints. */
    abandon,
    start: (): void => {
      running = run()
    },
    /** Resolves to true once the view holds every event up to the position, to false after `withinMs` milliseconds. */
    reached: progress.reached,
    /** False while this instance holds the lease and is stalled. */
    advancing,
    /** Position up to which this instance has written the views. */
    position: (): bigint => position,
    /** Number of documents that are too large for the views; 0 on an instance without the lease. */
    refused: (): number => (writes() ? fitting.count() : 0),
    close: async (): Promise<void> => {
      stop.abort()
      await running
      if (!abandoned()) await marks.now().catch(onError)
    },
  }
}
