import { isRefusal } from '../../errors.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { byStream, keyOf, revisionTracker, foldRow } from './fold-rows.ts'
import type { AnyProjection } from '../projection.ts'
import type { Row, Views } from '../views.ts'

const nameOf = ({ name }: AnyProjection, key: string) => `${name} ${key}`

const MARK_EVENTS = 1000
const MARK_MS = 1000

export type ViewWriterOptions = {
  readonly log: EventLog
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** True while this instance is the one that follows the log for the views; two at once do no harm. */
  readonly writes: () => boolean
  readonly onError: (error: unknown) => void
  readonly retryMs: number
  /** Pause between two looks at the log: whoever appended an event writes its row at once, so this asks about many rows together. */
  readonly laterMs: number
}

/** The safety net of the views: follows the log and writes what nobody wrote, from the views' own checkpoint on. Views out of reach stop nothing but this. */
export const viewWriter = ({ log, views, projections, writes, onError, retryMs, laterMs }: ViewWriterOptions) => {
  const stop = new AbortController()
  const written = revisionTracker()
  /** Documents that the views refuse as too large, each with the position up to which they hold all the same. */
  const refused = new Map<string, bigint>()
  const told = new Set<string>()
  let position = 0n
  let marked = 0n
  let running: Promise<void> = Promise.resolve()

  const pause = (ms: number) =>
    new Promise<void>((next) => {
      const over = () => {
        clearTimeout(timer)
        stop.signal.removeEventListener('abort', over)
        next()
      }
      const timer = setTimeout(over, ms)
      stop.signal.addEventListener('abort', over)
    })

  /** Never beyond what a refused document lacks: whoever starts from there finds it in the log. */
  const mark = async () => {
    const reached = [...refused.values()].reduce((least, each) => (each < least ? each : least), position)
    if (reached === marked) return
    for (const projection of projections) await views.mark(projection, reached)
    marked = reached
  }

  /** Puts what fits; what does not stays behind, is told of once, and keeps nothing else from its place. */
  const putFitting = async (projection: AnyProjection, rows: readonly Row[]): Promise<void> => {
    try {
      await views.put(projection, rows)
      if (refused.size > 0) for (const { key } of rows) refused.delete(nameOf(projection, key))
    } catch (error) {
      if (!isRefusal(error, 'body_too_large')) throw error
      const [row, ...others] = rows
      if (others.length > 0) for (const one of rows) await putFitting(projection, [one])
      else if (row) {
        const name = nameOf(projection, row.key)
        if (!refused.has(name)) refused.set(name, position)
        if (!told.has(name))
          onError(new Error(`${name} is larger than the views take and stays behind`, { cause: error }))
        told.add(name)
      }
    }
  }

  const write = async (page: readonly Stored[]) => {
    const streams = [...byStream(page)].filter(([, events]) => !written.has(events))
    for (const projection of projections) {
      const mine = new Map<string, readonly Stored[]>()
      for (const [stream, events] of streams)
        if (stream.startsWith(`${projection.category}-`)) mine.set(keyOf(projection, stream), events)
      if (mine.size === 0) continue
      const present = new Map((await views.getMany(projection, [...mine.keys()])).map((row) => [row.key, row]))
      const missing: Row[] = []
      for (const [key, events] of mine) {
        const row = present.get(key)
        if (row && row.revision >= events.at(-1)!.revision) refused.delete(nameOf(projection, key))
        else missing.push(await foldRow(log, projection, events, row))
      }
      if (missing.length > 0) await putFitting(projection, missing)
    }
    position = page.at(-1)!.position
    written.forget(position)
  }

  const followOnce = async () => {
    const checkpoints = await Promise.all(projections.map((projection) => views.checkpoint(projection)))
    position = marked = checkpoints.reduce<bigint>(
      (least, each = 0n) => (each < least ? each : least),
      checkpoints[0] ?? 0n,
    )
    refused.clear()
    let [since, at] = [0, performance.now()]
    for await (const page of log.follow(position, stop.signal)) {
      await write(page)
      since += page.length
      if (since >= MARK_EVENTS || performance.now() - at >= MARK_MS) {
        await mark()
        ;[since, at] = [0, performance.now()]
      }
      if (!writes()) return
      await pause(laterMs)
    }
  }

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        if (writes()) await followOnce()
      } catch (error) {
        onError(error)
      }
      if (!stop.signal.aborted) await pause(retryMs)
    }
  }

  return {
    start: (): void => {
      running = run()
    },
    /** Writes rows that this instance made itself, at once; what fails comes back from the log. */
    put: async (projection: AnyProjection, row: Row, stream: string): Promise<void> => {
      try {
        await views.put(projection, [row])
        refused.delete(nameOf(projection, row.key))
        written.record(row, stream)
      } catch (error) {
        onError(error)
      }
    },
    /** Position up to which this instance has seen to the views. */
    position: (): bigint => position,
    /** How many documents stay behind, by the instance that follows the log for the views. */
    refused: (): number => (writes() ? refused.size : 0),
    close: async (): Promise<void> => {
      stop.abort()
      await running
      if (position > marked) await mark().catch(onError)
    },
  }
}
