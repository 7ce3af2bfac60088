import type { EventHistogram, HistoryEvent, HistoryEvents } from '../../../src/contract/history/events.ts'
import type { EventFilter } from './event-filters.ts'
import { path, query, read } from './request.ts'

export type { HistoryEvent, HistoryEvents }

/** Maximum number of events on a page. */
export const EVENTS_PAGE = 100

/** Reads one page of events, newest first. */
export const readEvents = (
  filter: EventFilter,
  pageToken: string | undefined,
  signal?: AbortSignal,
  limit = EVENTS_PAGE,
): Promise<HistoryEvents> => read(`audit/v1/events${query({ ...filter, order: 'desc', limit, pageToken })}`, { signal })

export type EventCount = NonNullable<HistoryEvents['count']>

/** Counts the events of a filter; at most 10,000. */
export const countEvents = async (filter: EventFilter, signal?: AbortSignal): Promise<EventCount> => {
  const asked = query({ ...filter, order: 'desc', limit: 1, count: 'true' })
  const { count } = await read<HistoryEvents>(`audit/v1/events${asked}`, { signal })
  return count ?? { value: 0, exact: true }
}

/** Reads the event at a position. `opened` also opens its personal data, which the service records. */
export const readEvent = (position: string, opened: boolean, signal?: AbortSignal): Promise<HistoryEvent> =>
  read(`audit/v1/events/${path(position)}${query({ personal: opened ? 'open' : undefined })}`, { signal })

/** Counts the events of a filter by time, in at most `buckets` steps. */
export const readHistogram = (filter: EventFilter, buckets: number, signal?: AbortSignal): Promise<EventHistogram> =>
  read(`audit/v1/histogram${query({ ...filter, buckets })}`, { signal })

/** Path of the proof of the event at a position. */
export const proofPath = (position: string): string => `audit/v1/ledger/proof/${path(position)}`
