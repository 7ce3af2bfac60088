import { viewBehind, WAIT_MS } from '../as-of/reads.ts'
import { backgroundSlicer, sliced } from '../base/event-loop.ts'
import type { EventLog } from '../events/log.ts'
import type { Views } from '../projections/views.ts'
import { fieldsOf, type IndexedEvent } from '../verifier/export/event-fields.ts'
import type { EventFilter } from '../verifier/export/filter.ts'
import { countEvents, type HistogramRequest, histogramOf } from './counts.ts'
import { type ScanStep, type Sources, scanRange } from './event-index/scan.ts'
import { eventSearch } from './event-index/search.ts'
import { type Head, type LogPosition, type LogRange, positionFinder, type RangeBounds, rangeOf } from './ranges.ts'
import { type StatisticsRequest, statisticsOf } from './statistics.ts'

/** Maximum number of events examined for one page. */
const EXAMINED = 20_000
/** Maximum number of steps over events that the index excludes, for one page. */
const SKIPPED = 4_096

type EventPageRequest = {
  readonly filter: EventFilter
  readonly bounds: RangeBounds
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

const continued = (bounds: RangeBounds, isDescending: boolean, cursor: number | undefined): RangeBounds => {
  if (cursor === undefined) return bounds
  return isDescending
    ? { ...bounds, beforeIndex: Math.min(cursor, bounds.beforeIndex ?? cursor) }
    : { ...bounds, afterIndex: Math.max(cursor, bounds.afterIndex ?? cursor) }
}

/** Position of a step: the index alone is enough to find it. */
const placed = async (
  { find }: Pick<Sources, 'find'>,
  { index, position }: Pick<ScanStep, 'index' | 'position'>,
  { low, high }: LogRange,
): Promise<Head> =>
  [low, high].find((end) => end.index === index) ??
  (position === undefined ? find((place) => place.index <= index, high) : { index, position })

/**
 * Reads one page of the log. `take` receives each event that passes the filter and returns false for the first one that
 * does not fit the page. A page ends early after a bounded number of events.
 */
const eventPage = async (
  sources: Sources,
  { filter, bounds, descending: isDescending, limit, cursor }: EventPageRequest,
  head: Head,
  take: (event: IndexedEvent) => boolean | Promise<boolean>,
): Promise<PageEnd> => {
  const range = await rangeOf(sources, continued(bounds, isDescending, cursor), filter, head)
  let [examined, skipped, taken] = [0, 0, 0]
  let through: Pick<ScanStep, 'index' | 'position'> | undefined = range.low.index >= 0 ? range.low : undefined
  const end = async (isLast: boolean): Promise<PageEnd> => ({
    through: through && (await placed(sources, through, range)),
    next: isLast ? undefined : through!.index,
  })
  for await (const steps of sliced(scanRange(sources, filter, range, isDescending)))
    for (const step of steps) {
      if (examined === EXAMINED || skipped === SKIPPED || taken === limit) return end(false)
      if (step.event) {
        if (!(await take(step.event))) return end(false)
        taken++
      }
      if (step.isExamined) examined++
      else skipped++
      through = step
    }
  sources.signal.throwIfAborted()
  return end(true)
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
async function* exportedEvents(
  sources: Sources,
  filter: EventFilter,
  range: LogRange,
): AsyncGenerator<readonly ExportStep[]> {
  for await (const steps of sliced(scanRange(sources, filter, range), backgroundSlicer())) {
    let last: ScanStep | undefined
    let found: ExportStep[] = []
    for (const step of steps) {
      const { event } = step
      if (event) found.push({ place: { index: event.index, position: event.record.position }, event })
      last = step
      if (found.length === TOGETHER) {
        yield found
        found = []
      }
    }
    if (last?.position !== undefined)
      found.push({ place: { index: last.index, position: last.position }, event: undefined })
    if (found.length > 0) yield found
  }
  if (!sources.signal.aborted && range.high.index > range.low.index) yield [{ place: range.high, event: undefined }]
}

type HistorySources = {
  readonly log: Pick<EventLog, 'readAll' | 'head' | 'at' | 'first'>
  readonly views: Pick<Views, 'getMany'>
  /** Key of the marks in the log. */
  readonly key: Uint8Array
  /** Resolves to true once memory contains every event up to the position, to false after `withinMs` milliseconds. */
  readonly seen: (position: bigint, withinMs: number) => Promise<boolean>
  /** Position that memory has reached, and the number of events up to it. */
  readonly counted: () => { readonly position: bigint; readonly events: number }
  /** Called for a part of the index whose MAC does not match. */
  readonly onDamage: (what: string) => void
}

/** End of an empty log. */
const NOTHING: Head = { index: -1, position: 0n }

/** Reads the history: events by index, position and filter. Every event is read from the log. */
export const history = ({ log, views, key, seen, counted, onDamage }: HistorySources) => {
  const find = positionFinder({ log, views, key })
  const search = eventSearch({ views, key, onDamage })
  const sourcesUntil = (signal: AbortSignal): Sources => ({ log, find, search, signal })
  return {
    /**
     * Position and index of the newest event; undefined for an empty log. Refuses with `view_behind` if memory does not
     * receive the newest event in time.
     */
    head: async (): Promise<Head | undefined> => {
      const newest = await log.head()
      if (newest === 0n) return undefined
      if (!(await seen(newest, WAIT_MS))) viewBehind(newest)
      const { position, events } = counted()
      return { index: events - 1, position }
    },
    /** One page; rejects with the reason of the signal after an abort. */
    page: (
      asked: EventPageRequest,
      head: Head,
      take: (event: IndexedEvent) => boolean | Promise<boolean>,
      signal: AbortSignal,
    ) => eventPage(sourcesUntil(signal), asked, head, take),
    /** The part of the log that a range covers, up to the newest event. */
    range: (filter: EventFilter, bounds: RangeBounds, head: Head | undefined): Promise<LogRange> =>
      rangeOf({ find }, bounds, filter, head ?? NOTHING),
    /**
     * All events of a range of the log that pass the filter, in ascending order. The read ends early after an abort.
     */
    exported: (filter: EventFilter, range: LogRange, signal: AbortSignal) =>
      exportedEvents(sourcesUntil(signal), filter, range),
    count: (bounds: RangeBounds, filter: EventFilter, head: Head, signal: AbortSignal) =>
      countEvents(sourcesUntil(signal), bounds, filter, head),
    /** Time of the first event in epoch ms; undefined for an empty log. */
    began: async (): Promise<number | undefined> => {
      const first = await log.first()
      return first && Date.parse(first.time)
    },
    histogram: (wanted: HistogramRequest, head: Head | undefined, signal: AbortSignal) =>
      histogramOf(sourcesUntil(signal), wanted, head ?? NOTHING),
    statistics: (wanted: StatisticsRequest, head: Head | undefined, signal: AbortSignal) =>
      statisticsOf(sourcesUntil(signal), wanted, head ?? NOTHING),
    /** Position and index of the last event at or before a position. */
    positionAt: (position: bigint, head: Head | undefined): Promise<LogPosition> =>
      find((place) => place.position <= position, head ?? NOTHING),
    /** The event at exactly this position; undefined if there is none. */
    at: async (position: bigint, head: Head): Promise<IndexedEvent | undefined> => {
      const record = await log.at(position)
      if (!record) return undefined
      const { index } = await find((place) => place.position <= position, head)
      return { index, record, fields: fieldsOf(record) }
    },
  }
}
export type History = ReturnType<typeof history>
