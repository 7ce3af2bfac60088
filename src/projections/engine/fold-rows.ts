import type { Clock } from '../../base/clock.ts'
import { refuse } from '../../base/errors.ts'
import { sliced } from '../../base/event-loop.ts'
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

/**
 * Number of reads of a stream that returns fewer events than were delivered, and the first pause in ms; each pause
 * doubles.
 */
const READS = 10
const PAUSE_MS = 1

/** The log from whose events rows are computed, and the clock for repeated reads. */
export type FoldSources = { readonly log: Pick<EventLog, 'read' | 'head'>; readonly clock: Pick<Clock, 'sleep'> }

/**
 * Returns the row of a stream's document after these events. Starts with the row `present`; missing events before the
 * given ones are read from the log. If a read returns fewer events than were delivered, it is repeated, and refused
 * with `backend_unavailable` if the events do not appear. Events that the log has lost make the row unreadable.
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
        // If a read returns this event without those before it, the log has lost them.
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
          cause: new Error(`stream ${event.stream} does not return revision ${next()} yet`),
        })
      row = project(projection, row, event)
    }
  }
  // A single event needs no time slices.
  for await (const part of events.length > 1 ? sliced([events]) : [events])
    for (const event of part) {
      await missing(event)
      if (event.revision === next()) row = project(projection, row, event)
    }
  return row!
}

/** The events of a stream, completed to whole appends, because events of one append become visible together. */
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
