import type { Log, Stored } from '../events/log.ts'
import { byStream, keyOf, latest, newest } from './newest.ts'
import type { AnyProjection } from './projection.ts'
import type { Row, Views } from './views.ts'

const MARK_EVENTS = 1000
const MARK_MS = 1000

export type ViewWriterOptions = {
  readonly log: Log
  readonly views: Views
  readonly projections: readonly AnyProjection[]
  /** True while this instance is the one that follows the log for the views; two at once do no harm. */
  readonly writes: () => boolean
  readonly onError: (error: unknown) => void
  readonly retryMs: number
}

/** The safety net of the views: follows the log and writes what nobody wrote, from the views' own checkpoint on. Views out of reach stop nothing but this. */
export const viewWriter = ({ log, views, projections, writes, onError, retryMs }: ViewWriterOptions) => {
  const stop = new AbortController()
  const written = latest()
  let position = 0n
  let marked = 0n
  let running: Promise<void> = Promise.resolve()

  const mark = async () => {
    const reached = position
    for (const projection of projections) await views.mark(projection, reached)
    marked = reached
  }

  const write = async (page: readonly Stored[]) => {
    const rows = new Map<AnyProjection, Row[]>(projections.map((projection) => [projection, []]))
    for (const [stream, events] of byStream(page)) {
      if (written.met(events)) continue
      for (const [projection, ready] of rows) {
        if (!stream.startsWith(`${projection.category}-`)) continue
        const present = events[0]!.revision === 0n ? undefined : await views.get(projection, keyOf(projection, stream))
        ready.push(await newest(log, projection, events, present))
      }
    }
    for (const [projection, ready] of rows) if (ready.length > 0) await views.put(projection, ready)
    position = page.at(-1)!.position
    written.forget(position)
  }

  const followOnce = async () => {
    const checkpoints = await Promise.all(projections.map((projection) => views.checkpoint(projection)))
    position = marked = checkpoints.reduce<bigint>((least, each = 0n) => (each < least ? each : least), checkpoints[0] ?? 0n)
    let [since, at] = [0, performance.now()]
    for await (const page of log.follow(position, stop.signal)) {
      await write(page)
      since += page.length
      if (since >= MARK_EVENTS || performance.now() - at >= MARK_MS) {
        await mark()
        ;[since, at] = [0, performance.now()]
      }
      if (!writes()) return
    }
  }

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        if (writes()) await followOnce()
      } catch (error) {
        onError(error)
      }
      if (!stop.signal.aborted) await new Promise((wake) => setTimeout(wake, retryMs))
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
        written.meet(row, stream)
      } catch (error) {
        onError(error)
      }
    },
    /** Position up to which this instance has seen to the views. */
    position: (): bigint => position,
    close: async (): Promise<void> => {
      stop.abort()
      await running
      if (position > marked) await mark().catch(onError)
    },
  }
}
