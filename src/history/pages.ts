import { backgroundSlicer, timeSlicer } from '../base/event-loop.ts'
import { countBits } from './event-index/bitmap.ts'
import { type Sources, type Step, stepsThrough } from './event-index/steps.ts'
import { examine } from './examine.ts'
import type { IndexedEvent } from './facts.ts'
import type { EventFilter } from './filter.ts'
import { type EventRange, type Head, type Span, spanOf } from './spans.ts'

/** Maximum number of events examined for one page, and for a count. */
const EXAMINED = 20_000
const EXAMINED_FOR_COUNT = 200_000
/** Maximum number of steps over events that the index excludes, for one page. */
const SKIPPED = 4_096
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
 * End of a page of events. `through`: last event examined, or the last one before the range; undefined if there is
 * none. `next`: cursor of the next page; undefined after the last one.
 */
type PageEnd = { readonly through: Head | undefined; readonly next: number | undefined }

const continued = (range: EventRange, isDescending: boolean, cursor: number | undefined): EventRange => {
  if (cursor === undefined) return range
  return isDescending
    ? { ...range, beforeIndex: Math.min(cursor, range.beforeIndex ?? cursor) }
    : { ...range, afterIndex: Math.max(cursor, range.afterIndex ?? cursor) }
}

/** Position of a step: the index alone is enough to find it. */
const placed = async (
  { find }: Pick<Sources, 'find'>,
  { index, position }: Pick<Step, 'index' | 'position'>,
  { low, high }: Span,
): Promise<Head> =>
  [low, high].find((end) => end.index === index) ??
  (position === undefined ? find((place) => place.index <= index, high) : { index, position })

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
  const pause = timeSlicer()
  let [examined, skipped, taken] = [0, 0, 0]
  let through: Pick<Step, 'index' | 'position'> | undefined = span.low.index >= 0 ? span.low : undefined
  const end = async (isLast: boolean): Promise<PageEnd> => ({
    through: through && (await placed(sources, through, span)),
    next: isLast ? undefined : through!.index,
  })
  for await (const steps of stepsThrough(sources, filter, span, isDescending))
    for (const step of steps) {
      if (examined === EXAMINED || skipped === SKIPPED || taken === limit) return end(false)
      if (step.event) {
        if (!(await take(step.event))) return end(false)
        taken++
      }
      if (step.isExamined) examined++
      else skipped++
      through = step
      const paused = pause()
      if (paused) await paused
    }
  sources.signal.throwIfAborted()
  return end(true)
}

/** Counts the events of a range that pass the filter, up to `COUNTED`. Events that the index knows are not read. */
export const countEvents = async (
  sources: Sources,
  range: EventRange,
  filter: EventFilter,
  head: Head,
): Promise<{ readonly value: number; readonly exact: boolean }> => {
  const span = await spanOf(sources, range, filter, head)
  const all = Math.max(0, span.high.index - span.low.index)
  if (Object.keys(filter).length === 0) return { value: Math.min(all, COUNTED), exact: all <= COUNTED }
  let value = 0
  const isWhole = await examine(sources, filter, span, {
    most: EXAMINED_FOR_COUNT,
    decided: (_, bits) => {
      value += countBits(bits)
      return true
    },
    take: () => void value++,
    isEnough: () => value > COUNTED,
  })
  return { value: Math.min(value, COUNTED), exact: isWhole }
}

/**
 * Progress of an export: the position up to which all events were examined, and the event there, if it passes the
 * filter.
 */
export type ExportStep = { readonly place: Head; readonly event: IndexedEvent | undefined }

/** Maximum number of events that are passed on together. */
const TOGETHER = 64

/**
 * Examines all events of a range of the log. Returns each event that passes the filter, and the positions up to which
 * all events were examined, several steps at a time.
 */
export async function* exportedEvents(
  sources: Sources,
  filter: EventFilter,
  span: Span,
): AsyncGenerator<readonly ExportStep[]> {
  const pause = backgroundSlicer()
  for await (const steps of stepsThrough(sources, filter, span)) {
    let last: Step | undefined
    let found: ExportStep[] = []
    for (const step of steps) {
      const { event } = step
      if (event) found.push({ place: { index: event.index, position: event.record.position }, event })
      last = step
      if (found.length === TOGETHER) {
        yield found
        found = []
      }
      const paused = pause()
      if (paused) await paused
    }
    if (last?.position !== undefined)
      found.push({ place: { index: last.index, position: last.position }, event: undefined })
    if (found.length > 0) yield found
  }
  if (!sources.signal.aborted && span.high.index > span.low.index) yield [{ place: span.high, event: undefined }]
}
