import type { Log, Stored } from '../events/log.ts'
import { type AnyProjection, project } from './projection.ts'
import { type Progress, rebuild } from './rebuild.ts'
import type { Row, Views } from './views.ts'

export type RunnerOptions = {
  readonly log: Log
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** Memory of this instance: told of every row once at start and then of each newest row of a document, in order. */
  readonly remember: (projection: AnyProjection, row: Row) => void
  readonly onError: (error: unknown) => void
  readonly retryMs?: number
}
const MARK_EVERY = 1000

/** Keeps the read models behind the log: builds what is missing, applies this instance's own events at once, and follows the log for all others. */
export const runner = ({ log, views, projections, remember, onError, retryMs = 250 }: RunnerOptions) => {
  const readBy = (stream: string) => projections.filter(({ category }) => stream.startsWith(`${category}-`))
  const turns = new Map<string, Promise<unknown>>()
  const own = new Set<bigint>()
  const waiting = new Set<{ readonly position: bigint; readonly wake: () => void }>()
  const stop = new AbortController()
  let followed = 0n
  let marked = 0n
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

  const advance = async (projection: AnyProjection, events: readonly Stored[], fresh: boolean): Promise<Row> => {
    const [first, last] = [events[0]!, events.at(-1)!]
    const key = first.stream.slice(projection.category.length + 1)
    const present = fresh ? undefined : await views.get(projection, key)
    const from = (present?.revision ?? -1n) + 1n
    let row = present
    if (from < first.revision) {
      for await (const page of log.read(first.stream, from)) for (const event of page) row = project(projection, row, event)
    } else {
      for (const event of events) if (event.revision >= from) row = project(projection, row, event)
    }
    if (!row) throw new Error(`${first.stream} has no event up to revision ${last.revision}`)
    if (row !== present) await views.put(projection, [row])
    remember(projection, row)
    return row
  }

  const applyStream = async (stream: string, events: readonly Stored[], fresh: boolean): Promise<readonly Row[]> => {
    const rows: Row[] = []
    for (const projection of readBy(stream)) rows.push(await advance(projection, events, fresh))
    return rows
  }

  const reached = (position: bigint) => {
    followed = position
    for (const mine of own) if (mine <= position) own.delete(mine)
    for (const one of waiting) {
      if (one.position > position) continue
      waiting.delete(one)
      one.wake()
    }
  }

  const mark = async (position: bigint) => {
    for (const projection of projections) await views.mark(projection, position)
    marked = position
  }

  const followFrom = async (after: bigint) => {
    let since = 0
    for await (const page of log.follow(after, stop.signal)) {
      const others = page.filter(({ position }) => !own.has(position))
      for (const [stream, events] of groupByStream(others)) await inTurn(stream, () => applyStream(stream, events, false))
      reached(page.at(-1)!.position)
      since += page.length
      if (since >= MARK_EVERY) {
        since = 0
        await mark(followed)
      }
    }
  }

  const follow = async () => {
    while (!stop.signal.aborted) {
      try {
        await followFrom(followed)
      } catch (error) {
        onError(error)
      }
      if (!stop.signal.aborted) await new Promise((wake) => setTimeout(wake, retryMs))
    }
  }

  return {
    /** Builds what was never built, fills memory, and starts to follow. Resolves when this instance knows all that was in the log. */
    start: async (onProgress?: (progress: Progress) => void): Promise<void> => {
      const checkpoints: bigint[] = []
      for (const projection of projections) {
        if ((await views.checkpoint(projection)) === undefined) await rebuild(log, views, projection, onProgress)
        checkpoints.push((await views.checkpoint(projection)) ?? 0n)
      }
      for (const projection of projections) {
        for await (const rows of views.scan(projection)) for (const row of rows) remember(projection, row)
      }
      followed = checkpoints.reduce((least, each) => (each < least ? each : least), await log.head())
      const head = await log.head()
      running = follow()
      await new Promise<void>((wake) => (head <= followed ? wake() : waiting.add({ position: head, wake })))
    },

    /** Applies events that this instance has just appended; gives the newest rows of their documents. Resolves when every later read here sees them. */
    applied: async (events: readonly Stored[]): Promise<readonly Row[]> => {
      const rows: Row[] = []
      for (const [stream, mine] of groupByStream(events)) {
        const newest = await inTurn(stream, async () => {
          const fresh = mine[0]!.revision === 0n && mine[0]!.position > followed
          const applied = await applyStream(stream, mine, fresh)
          for (const { position } of mine) if (position > followed) own.add(position)
          return applied
        })
        rows.push(...newest)
      }
      return rows
    },

    /** Resolves to true once every event up to the position is applied here, or to false when that takes longer than the milliseconds given. */
    seen: async (position: bigint, withinMs: number): Promise<boolean> => {
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
    },

    /** Position up to which this instance has applied every event. */
    position: (): bigint => followed,
    close: async (): Promise<void> => {
      stop.abort()
      await running
      if (followed > marked) await mark(followed)
    },
  }
}

const groupByStream = (events: readonly Stored[]): Map<string, Stored[]> => {
  const streams = new Map<string, Stored[]>()
  for (const event of events) {
    const together = streams.get(event.stream)
    if (together) together.push(event)
    else streams.set(event.stream, [event])
  }
  return streams
}

export type Runner = ReturnType<typeof runner>
