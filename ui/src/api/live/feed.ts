import { EVENT_FILTERS, type EventFilter } from '../event-filters.ts'

/** Filters of events that form a range. */
const RANGE = ['from', 'to', 'after', 'before', 'afterIndex', 'beforeIndex'] as const
type Bound = (typeof RANGE)[number]

/** Filters of events without their range. */
export type EventFilters = Readonly<Record<string, string>>
export type EventRange = { readonly [N in Bound]?: string | undefined }

const isBound = (name: string): name is Bound => (RANGE as readonly string[]).includes(name)

/** Divides a filter into its range and the rest. */
export const dividedFilter = (filter: EventFilter): { readonly filters: EventFilters; readonly range: EventRange } => {
  const given = EVENT_FILTERS.flatMap((name) => {
    const value = filter[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    filters: Object.fromEntries(given.filter(([name]) => !isBound(name))),
    range: Object.fromEntries(given.filter(([name]) => isBound(name))),
  }
}

/** Whether a range has an end, so that later events are not in it. */
export const hasEnd = ({ to, before, beforeIndex }: EventRange): boolean => (to ?? before ?? beforeIndex) !== undefined

/** Filters of a live page, and whether its user may read the whole history. */
type Wanted = { readonly filters: EventFilters; readonly isAuditor: boolean }

/** Name of a feed: equal filters have the same name, whatever their order. */
export const nameOf = (filters: EventFilters): string =>
  JSON.stringify(Object.entries(filters).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** Filters of a name. */
export const filtersOf = (name: string): EventFilters =>
  Object.fromEntries(JSON.parse(name) as readonly (readonly [string, string])[])

const inNamespace = ({ namespaceKey }: EventFilters): EventFilters =>
  namespaceKey === undefined ? {} : { namespaceKey }

/**
 * Feed that covers all wanted filters: their common filters; else the whole history, if the user may read it; else their
 * common namespace; else the filters of the page that leads (docs/decisions/0046).
 */
export const feedFor = (own: Wanted, others: readonly EventFilters[]): EventFilters => {
  const names = new Set([own.filters, ...others].map(nameOf))
  if (names.size === 1) return own.filters
  if (own.isAuditor) return {}
  const namespaces = new Set([own.filters, ...others].map((filters) => nameOf(inNamespace(filters))))
  return namespaces.size === 1 ? inNamespace(own.filters) : own.filters
}

/** Whether every event that passes the filters is in the feed. */
export const covers = (feed: EventFilters, filters: EventFilters): boolean => {
  const name = nameOf(feed)
  return name === nameOf(filters) || name === nameOf({}) || name === nameOf(inNamespace(filters))
}
