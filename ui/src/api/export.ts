import { useQuery } from '@tanstack/react-query'
import type { EventFilter } from './event-filters.ts'
import { countEvents, type EventCount, type HistoryEvents, readEvents, readHistogram } from './history.ts'
import { keys } from './keys.ts'
import { query, request } from './request.ts'

/** Formats that a browser or the command line exports. */
export type ExportFormat = 'ndjson' | 'csv' | 'cloudevents' | 'ocsf'

/** Most events of one page of CloudEvents. */
const PAGE = 1000

const least = (bound: string | undefined, end: bigint): string =>
  bound !== undefined && /^\d+$/.test(bound) && BigInt(bound) < end ? bound : String(end)

/** Filter up to the newest event of the log when a page was read: later events do not change its export. */
export const exportFilter = (
  filter: EventFilter,
  { index, position }: NonNullable<HistoryEvents['head']>,
): EventFilter =>
  filter.beforeIndex === undefined
    ? { ...filter, before: least(filter.before, BigInt(position) + 1n) }
    : { ...filter, beforeIndex: least(filter.beforeIndex, BigInt(index) + 1n) }

/** Path of an export. */
export const exportPath = (filter: EventFilter, format: ExportFormat, isOpen: boolean): string => {
  const limit = format === 'cloudevents' ? PAGE : undefined
  return `audit/v1/events${query({ ...filter, format, limit, personal: isOpen ? 'open' : undefined })}`
}

/** Number of the events of an export. The histogram, which an auditor may read, counts more than 10,000. */
const readSize = async (filter: EventFilter, isAuditor: boolean, signal: AbortSignal): Promise<EventCount> => {
  const count = await countEvents(filter, signal)
  if (count.exact || !isAuditor) return count
  const { total, exact } = await readHistogram(filter, 1, signal)
  return { value: total, exact }
}

/** Number of the events of an export; the filter is undefined until the page is read. */
export const useExportSize = (filter: EventFilter | undefined, isAuditor: boolean) =>
  useQuery({
    queryKey: [...keys.history, 'size', filter, isAuditor],
    queryFn: ({ signal }) => readSize(filter!, isAuditor, signal),
    enabled: filter !== undefined,
    placeholderData: (before) => before,
    staleTime: 'static',
  })

/**
 * Checks that the service answers an export. False: the form has several pages, and one answer does not hold all events.
 * Throws a `Failure` if the service refuses it.
 */
export const isWhole = async (filter: EventFilter, format: ExportFormat): Promise<boolean> => {
  await readEvents(filter, undefined, undefined, 1)
  if (format !== 'cloudevents') return true
  const { headers } = await request(exportPath(filter, format, false), { method: 'HEAD', form: 'text' })
  return headers.get('link') === null
}
