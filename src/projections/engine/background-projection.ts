import type { Clock } from '../../base/clock.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import type { LogProjection } from '../history/log-marks.ts'
import type { Checkpoint, Views } from '../views.ts'
import { advanced, START } from './checkpoints.ts'

/**
 * Interval in ms at which the projection checks for a full block of events, and at which it reads its checkpoint although
 * there is none, because another program may have changed it.
 */
const LOOK_MS = 1_000
const VERIFY_MS = 30_000

/** Number of events in whole blocks. */
export const wholeBlocks = (events: number, block: number): number => events - (events % block)

type BackgroundOptions = {
  readonly clock: Clock
  readonly log: Pick<EventLog, 'read' | 'readAll' | 'at' | 'first'>
  readonly views: Views
  /** The projection. The count increases by whole blocks only. */
  readonly model: LogProjection & { readonly block: number }
  /** Number of events that this instance has followed. */
  readonly events: () => number
  /** True while this instance holds the lease of the views; two writers at once are harmless. */
  readonly writes: () => boolean
  readonly onError: (error: unknown) => void
}

/**
 * Builds a log projection while the service runs, and keeps it up to date in whole blocks of events. No other part
 * waits for it: neither a start, nor the other views.
 */
export const backgroundProjection = (options: BackgroundOptions) => {
  const { clock, log, views, model, events, writes, onError } = options
  const { block } = model
  const stop = new AbortController()
  const find = <D extends object>(keys: readonly string[]) => views.getMany<D>(model, keys)
  let running: Promise<void> = Promise.resolve()
  /** Number of events that the projection has, as read from the store, and the time until which that is believed. */
  let complete = { events: 0, until: Number.NEGATIVE_INFINITY }

  /** The stored checkpoint; undefined while the log is empty. Throws if the log has another event there. */
  const standing = async (): Promise<Checkpoint | undefined> => {
    const stored = await views.checkpoint(model)
    const first = await log.first()
    if (!first) return undefined
    if (!stored) {
      const begin = { ...START, log: first.id }
      return (await views.mark(model, undefined, begin)) ? begin : undefined
    }
    if (stored.position > 0n && (await log.at(stored.position))?.id !== stored.event)
      throw new Error(
        `the read model ${model.name} has processed the log up to position ${stored.position}, but the log contains a different event at this position`,
      )
    return stored
  }

  /**
   * Writes the rows that follow from a page of events. Returns undefined if another writer has moved the checkpoint.
   */
  const written = async (from: Checkpoint, page: readonly Stored[]): Promise<Checkpoint | undefined> => {
    const rows = await model.rowsOf({ log, find }, from, page)
    if (rows.length > 0) await views.put(model, rows)
    const to = advanced(model, from, page)
    return (await views.mark(model, from.position, to)) ? to : undefined
  }

  const advance = async (): Promise<void> => {
    const due = wholeBlocks(events(), block)
    if (complete.events >= due && clock.monotonic() < complete.until) return
    let checkpoint = await standing()
    if (!checkpoint) return
    if (checkpoint.events >= due) {
      complete = { events: checkpoint.events, until: clock.monotonic() + VERIFY_MS }
      return
    }
    for await (const page of log.readAll(checkpoint.position)) {
      checkpoint = await written(checkpoint, page.slice(0, due - checkpoint.events))
      if (!checkpoint || checkpoint.events >= due || stop.signal.aborted || !writes()) return
    }
  }

  const run = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      if (writes()) await advance().catch(onError)
      await clock.sleep(LOOK_MS, stop.signal)
    }
  }

  return {
    start: (): void => {
      running = run()
    },
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}
