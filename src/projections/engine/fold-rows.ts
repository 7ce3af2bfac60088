import type { Clock } from '../../clock.ts'
import { refuse } from '../../errors.ts'
import { timeSlicer } from '../../event-loop.ts'
import type { AnyEvent } from '../../events/define.ts'
import type { EventLog, Stored } from '../../events/log.ts'
import { goesOn } from '../../events/meta.ts'
import { unreadableOf } from '../../events/unreadable.ts'
import { type AnyProjection, type Projection, project } from '../projection.ts'
import type { Row } from '../views.ts'

/** The key of a stream's document. */
export const keyOf = ({ category }: AnyProjection, stream: string): string => stream.slice(category.length + 1)

/** The events of each stream, in order. */
export const byStream = (events: readonly Stored[]): ReadonlyMap<string, readonly Stored[]> => {
  const streams = new Map<string, Stored[]>()
  for (const event of events) {
    const together = streams.get(event.stream)
    if (together) together.push(event)
    else streams.set(event.stream, [event])
  }
  return streams
}

/** How often a stream is read that shows less than is known of it, and the first pause between; each is twice the one before. */
const READS = 10
const PAUSE_MS = 1

/** The log that rows are folded from, and the clock by which a read of it is repeated. */
export type FoldSources = { readonly log: Pick<EventLog, 'read' | 'head'>; readonly clock: Pick<Clock, 'sleep'> }

/**
 * The row of a stream's document after these events, in order. Begins with the row at hand; events missing before them
 * are read from the log. A read may show less than a follower delivered. It is then repeated, and refused with
 * `backend_unavailable` if the events do not come: a row without them is never given. What the log has lost for good
 * closes the row.
 */
export const foldRow = async <D extends object, E extends AnyEvent>(
  { log, clock }: FoldSources,
  projection: Projection<D, E>,
  events: readonly Stored[],
  present: Row<D> | undefined,
): Promise<Row<D>> => {
  let row = present
  const next = () => (row?.revision ?? -1n) + 1n
  const readUpTo = async ({ stream, revision }: Stored) => {
    for await (const page of log.read(stream, next())) {
      for (const event of page) {
        // A read that shows this event and not those before it will never show them.
        if (event.revision < revision || next() < revision) row = project(projection, row, event)
        if (event.revision >= revision) return
      }
    }
  }
  const missing = async (event: Stored) => {
    for (let reads = 0; next() < event.revision; reads++) {
      if (reads > 0) await clock.sleep(PAUSE_MS * 2 ** (reads - 1))
      try {
        await readUpTo(event)
      } catch (error) {
        const lost = unreadableOf(error)
        if (!lost) throw error
        row = project(projection, row, event, lost)
      }
      if (reads + 1 < READS || next() >= event.revision) continue
      if ((await log.head()) < event.position)
        refuse('backend_unavailable', undefined, {
          cause: new Error(`${event.stream} does not show revision ${next()}`),
        })
      row = project(projection, row, event)
    }
  }
  const pause = timeSlicer()
  for (const event of events) {
    await missing(event)
    if (event.revision === next()) row = project(projection, row, event)
    const paused = pause()
    if (paused) await paused
  }
  return row!
}

/** The events of a stream, with those behind them where the last are the beginning of an append: what is written at once is shown at once. */
export const wholeAppend = async (
  log: Pick<EventLog, 'read'>,
  events: readonly Stored[],
): Promise<readonly Stored[]> => {
  const last = events.at(-1)!
  if (!goesOn(last)) return events
  const all = [...events]
  for await (const page of log.read(last.stream, last.revision + 1n)) {
    for (const event of page) {
      all.push(event)
      if (!goesOn(event)) return all
    }
  }
  return all
}

/** An event by its place. */
export type Met = Pick<Stored, 'stream' | 'revision' | 'position'>

/** The latest revision met of each stream, until the whole log is known up to there anyway. */
export const revisionTracker = () => {
  const streams = new Map<string, { readonly revision: bigint; readonly position: bigint }>()
  return {
    /** True when these events of a stream, or later ones, were met before. */
    has: (events: readonly Stored[]): boolean => {
      const known = streams.get(events[0]!.stream)
      return known !== undefined && known.revision >= events.at(-1)!.revision
    },
    record: ({ stream, revision, position }: Met): void => {
      const known = streams.get(stream)
      if (!known || known.revision < revision) streams.set(stream, { revision, position })
    },
    /** All that is known. */
    all: (): readonly Met[] =>
      Array.from(streams, ([stream, { revision, position }]) => ({ stream, revision, position })),
    /** Forgets what lies at or before a position. */
    forget: (position: bigint): void => {
      for (const [stream, known] of streams) if (known.position <= position) streams.delete(stream)
    },
  }
}
