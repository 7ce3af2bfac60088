import type { EventLog, Stored } from '../../events/log.ts'
import { byStream, keyOf, revisionTracker, foldRow } from './fold-rows.ts'
import type { AnyProjection } from '../projection.ts'
import { type Progress, rebuild } from './rebuild.ts'
import { viewWriter } from './view-writer.ts'
import type { Row, Views } from '../views.ts'

export type RunnerOptions = {
  readonly log: EventLog
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** Memory of this instance: told of every row once at start (`first`) and then of each newest row of a document, in order. */
  readonly remember: (projection: AnyProjection, row: Row, first: boolean) => void
  /** The row that memory holds of a document, where it holds whole rows. */
  readonly recall?: (projection: AnyProjection, key: string) => Row | undefined
  readonly writes?: () => boolean
  readonly onError: (error: unknown) => void
  readonly retryMs?: number
  readonly laterMs?: number
}

/** Keeps memory and views behind the log: builds what is missing, applies this instance's own events at once, and follows the log for all others. */
export const runner = ({
  log,
  views,
  projections,
  remember,
  recall = () => undefined,
  writes = () => true,
  onError,
  retryMs = 250,
  laterMs = 100,
}: RunnerOptions) => {
  const writer = viewWriter({ log, views, projections, writes, onError, retryMs, laterMs })
  const readBy = (stream: string) => projections.filter(({ category }) => stream.startsWith(`${category}-`))
  const turns = new Map<string, Promise<unknown>>()
  const remembered = revisionTracker()
  const waiting = new Set<{ readonly position: bigint; readonly wake: () => void }>()
  const stop = new AbortController()
  let followed = 0n
  let running: Promise<void> = Promise.resolve()

  /** One stream's events are applied one batch after the other, so memory never sees an older row after a newer one. */
  const inTurn = async <T>(stream: string, work: () => Promise<T>): Promise<T> => {
    const turn = (turns.get(stream) ?? Promise.resolve()).then(work, work)
    turns.set(stream, turn)
    try {
      return await turn
    } finally {
      if (turns.get(stream) === turn) turns.delete(stream)
    }
  }

  const rememberOwn = async (stream: string, events: readonly Stored[]): Promise<ReadonlyMap<AnyProjection, Row>> => {
    const rows = new Map<AnyProjection, Row>()
    const known = events.at(-1)!.position <= followed || remembered.has(events)
    for (const projection of readBy(stream)) {
      const row = await foldRow(log, projection, events, recall(projection, keyOf(projection, stream)))
      if (!known) {
        remember(projection, row, false)
        remembered.record(row, stream)
      }
      rows.set(projection, row)
    }
    return rows
  }

  /** Memory does not wait for views that are slow or away: they take rows in any order. */
  const applyOwn = async (stream: string, events: readonly Stored[]): Promise<Iterable<Row>> => {
    const rows = await inTurn(stream, () => rememberOwn(stream, events))
    for (const [projection, row] of rows) await writer.put(projection, row, stream)
    return rows.values()
  }

  const applyOthers = async (stream: string, events: readonly Stored[]): Promise<void> => {
    if (remembered.has(events)) return
    for (const projection of readBy(stream)) {
      const row = await foldRow(log, projection, events, recall(projection, keyOf(projection, stream)))
      remember(projection, row, false)
      remembered.record(row, stream)
    }
  }

  const reached = (position: bigint) => {
    followed = position
    remembered.forget(position)
    for (const one of waiting) {
      if (one.position > position) continue
      waiting.delete(one)
      one.wake()
    }
  }

  const follow = async () => {
    while (!stop.signal.aborted) {
      try {
        for await (const page of log.follow(followed, stop.signal)) {
          for (const [stream, events] of byStream(page)) await inTurn(stream, () => applyOthers(stream, events))
          reached(page.at(-1)!.position)
        }
      } catch (error) {
        onError(error)
      }
      if (!stop.signal.aborted) await new Promise((wake) => setTimeout(wake, retryMs))
    }
  }

  /** Sees to it that a view is built, by this instance or by the one that writes; gives its checkpoint. */
  const built = async (projection: AnyProjection, onProgress?: (progress: Progress) => void): Promise<bigint> => {
    for (;;) {
      const checkpoint = await views.checkpoint(projection)
      if (checkpoint !== undefined) return checkpoint
      if (writes())
        await ((await log.head()) === 0n ? views.mark(projection, 0n) : rebuild(log, views, projection, onProgress))
      else await new Promise((wake) => setTimeout(wake, retryMs))
    }
  }

  /** Resolves to true once every event up to the position is applied to memory here, or to false when that takes longer than the milliseconds given. */
  const seen = async (position: bigint, withinMs: number): Promise<boolean> => {
    if (position <= followed) return true
    return new Promise((answer) => {
      const one = {
        position,
        wake: () => {
          clearTimeout(timer)
          answer(true)
        },
      }
      const timer = setTimeout(() => {
        waiting.delete(one)
        answer(false)
      }, withinMs)
      waiting.add(one)
    })
  }

  return {
    /** Builds what was never built, fills memory, and starts to follow. Resolves when this instance knows all that was in the log. */
    start: async (onProgress?: (progress: Progress) => void): Promise<void> => {
      const checkpoints: bigint[] = []
      for (const projection of projections) checkpoints.push(await built(projection, onProgress))
      for (const projection of projections) {
        for await (const rows of views.scan(projection)) for (const row of rows) remember(projection, row, true)
      }
      const head = await log.head()
      reached(checkpoints.reduce((least, each) => (each < least ? each : least), head))
      running = follow()
      writer.start()
      while (!(await seen(head, 1_000))) if (stop.signal.aborted) return
    },

    /** Applies events that this instance has just appended; gives the newest rows of their documents. Resolves when every later read here sees them. */
    applied: async (events: readonly Stored[]): Promise<readonly Row[]> => {
      const rows: Row[] = []
      for (const [stream, mine] of byStream(events)) rows.push(...(await applyOwn(stream, mine)))
      return rows
    },

    seen,
    /** Position up to which memory here holds every event, and up to which this instance has seen to the views. */
    position: (): bigint => followed,
    viewPosition: writer.position,
    refusedRows: writer.refused,
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await writer.close()
    },
  }
}
