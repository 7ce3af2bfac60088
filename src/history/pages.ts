import { timeSlicer } from '../event-loop.ts'
import type { IndexedEvent } from './facts.ts'
import { type EventFilter, eventFilter } from './filter.ts'
import type { LogPlace } from './places.ts'
import { ascending, descending, type EventRange, type Head, type Sources, type Span, spanOf } from './spans.ts'

/** Maximum number of events examined for one page, and for a count. */
const EXAMINED = 20_000
const EXAMINED_FOR_COUNT = 200_000
/** Maximum result of a count. */
const COUNTED = 10_000
export type EventPageRequest = {
  readonly filter: EventFilter
  readonly range: EventRange
  readonly descending: boolean
  readonly limit: number
  /** Index of the last event that the previous page examined. */
  readonly cursor: number | undefined
}

/**
 * End of a page. `through`: last event examined, or the last one before the range; undefined if there is none. `next`:
 * cursor of the next page; undefined after the last one.
 */
type PageEnd = { readonly through: Head | undefined; readonly next: number | undefined }

const continued = (range: EventRange, isDescending: boolean, cursor: number | undefined): EventRange => {
  if (cursor === undefined) return range
  return isDescending
    ? { ...range, beforeIndex: Math.min(cursor, range.beforeIndex ?? cursor) }
    : { ...range, afterIndex: Math.max(cursor, range.afterIndex ?? cursor) }
}

/**
 * Reads one page of the log. `take` receives each event that passes the filter and returns false for the first one that
 * does not fit the page. A page ends early after a bounded number of events.
 */
export const eventPage = async (
  sources: Sources,
  { filter, range, descending: isDescending, limit, cursor }: EventPageRequest,
  head: Head,
  take: (event: IndexedEvent) => boolean | Promise<boolean>,
): Promise<PageEnd> => {
  const span = await spanOf(sources, continued(range, isDescending, cursor), filter, head)
  const passes = eventFilter(filter)
  const pause = timeSlicer()
  let [examined, taken] = [0, 0]
  let through: Head | undefined = span.low.index >= 0 ? span.low : undefined
  for await (const page of isDescending ? descending(sources, span) : ascending(sources, span))
    for (const { place, record } of page) {
      if (examined === EXAMINED || taken === limit) return { through, next: through!.index }
      const facts = passes(record)
      if (facts) {
        if (!(await take({ index: place.index, record, facts }))) return { through, next: through!.index }
        taken++
      }
      examined++
      through = place
      const paused = pause()
      if (paused) await paused
    }
  sources.signal.throwIfAborted()
  return { through, next: undefined }
}

/** Counts the events of a range that pass the filter, up to `COUNTED`. */
export const countEvents = async (
  sources: Sources,
  range: EventRange,
  filter: EventFilter,
  head: Head,
): Promise<{ readonly value: number; readonly exact: boolean }> => {
  const span = await spanOf(sources, range, filter, head)
  const all = Math.max(0, span.high.index - span.low.index)
  if (Object.keys(filter).length === 0) return { value: Math.min(all, COUNTED), exact: all <= COUNTED }
  const passes = eventFilter(filter)
  const pause = timeSlicer()
  let [examined, value] = [0, 0]
  for await (const page of ascending(sources, span))
    for (const { record } of page) {
      if (examined++ === EXAMINED_FOR_COUNT) return { value, exact: false }
      if (passes(record) && ++value > COUNTED) return { value: COUNTED, exact: false }
      const paused = pause()
      if (paused) await paused
    }
  sources.signal.throwIfAborted()
  return { value, exact: true }
}

/** Progress of an export: a place of the log up to which all events were examined, and the event there, if it passes. */
export type ExportStep = { readonly place: LogPlace; readonly event: IndexedEvent | undefined }

/** Examines all events of a span. Yields each event that passes, and the last place of each page of the log. */
export async function* exportedEvents(
  sources: Omit<Sources, 'find'>,
  filter: EventFilter,
  span: Span,
): AsyncGenerator<ExportStep> {
  const passes = eventFilter(filter)
  const pause = timeSlicer()
  for await (const page of ascending(sources, span)) {
    for (const { place, record } of page) {
      const facts = passes(record)
      if (facts) yield { place, event: { index: place.index, record, facts } }
      const paused = pause()
      if (paused) await paused
    }
    yield { place: page.at(-1)!.place, event: undefined }
  }
}
