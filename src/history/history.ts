import { viewBehind, WAIT_MS } from '../as-of/view-behind.ts'
import type { EventLog } from '../events/log.ts'
import type { Views } from '../projections/views.ts'
import { eventSearch } from './event-index/search.ts'
import { factsOf, type IndexedEvent } from './facts.ts'
import type { EventFilter } from './filter.ts'
import { type HistogramRequest, histogramOf } from './histogram.ts'
import { countEvents, type EventPageRequest, eventPage, exportedEvents } from './pages.ts'
import { type LogPlace, placeFinder } from './places.ts'
import { type EventRange, type Head, type Span, spanOf } from './spans.ts'
import { type StatisticsRequest, statisticsOf } from './statistics.ts'

type Sources = {
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
export const history = ({ log, views, key, seen, counted, onDamage }: Sources) => {
  const find = placeFinder({ log, views, key })
  const search = eventSearch({ views, key, onDamage })
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
    ) => eventPage({ log, find, search, signal }, asked, head, take),
    /** The part of the log that a range covers, up to the newest event. */
    span: (filter: EventFilter, range: EventRange, head: Head | undefined): Promise<Span> =>
      spanOf({ find }, range, filter, head ?? NOTHING),
    /**
     * All events of a range of the log that pass the filter, in ascending order. The read ends early after an abort.
     */
    exported: (filter: EventFilter, span: Span, signal: AbortSignal) =>
      exportedEvents({ log, find, search, signal }, filter, span),
    count: (range: EventRange, filter: EventFilter, head: Head, signal: AbortSignal) =>
      countEvents({ log, find, search, signal }, range, filter, head),
    /** Time of the first event in epoch ms; undefined for an empty log. */
    began: async (): Promise<number | undefined> => {
      const first = await log.first()
      return first && Date.parse(first.time)
    },
    histogram: (wanted: HistogramRequest, head: Head | undefined, signal: AbortSignal) =>
      histogramOf({ log, find, search, signal }, wanted, head ?? NOTHING),
    statistics: (wanted: StatisticsRequest, head: Head | undefined, signal: AbortSignal) =>
      statisticsOf({ log, find, search, signal }, wanted, head ?? NOTHING),
    /** Position and index of the last event at or before a position. */
    placeAt: (position: bigint, head: Head | undefined): Promise<LogPlace> =>
      find((place) => place.position <= position, head ?? NOTHING),
    /** The event at exactly this position; undefined if there is none. */
    at: async (position: bigint, head: Head): Promise<IndexedEvent | undefined> => {
      const record = await log.at(position)
      if (!record) return undefined
      const { index } = await find((place) => place.position <= position, head)
      return { index, record, facts: factsOf(record) }
    },
  }
}
export type History = ReturnType<typeof history>
