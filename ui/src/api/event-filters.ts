import type { EventsQuery } from '../../../src/contract/history/events.ts'

/** Filters of the history, by their parameter in the API and in the address (history.md §4.2). */
export const EVENT_FILTERS = [
  'type',
  'category',
  'stream',
  'actor',
  'tokenId',
  'subject',
  'namespaceKey',
  'flagKey',
  'segmentKey',
  'method',
  'provider',
  'outcome',
  'requestId',
  'correlationId',
  'command',
  'route',
  'q',
  'from',
  'to',
  'after',
  'before',
  'afterIndex',
  'beforeIndex',
] as const satisfies readonly (keyof EventsQuery)[]
export type EventFilterName = (typeof EVENT_FILTERS)[number]

/** Filters of the history. Each value is a text as the API reads it; an absent filter matches every event. */
export type EventFilter = { readonly [N in EventFilterName]?: string | undefined }

/** Period of a filter, or a change of it: a bound that is absent stays as it is. */
export type Period = Pick<EventFilter, 'from' | 'to'>

/** Returns the filters of an address, without its other parameters. */
export const filterIn = (search: Readonly<Record<string, string | undefined>>): EventFilter =>
  Object.fromEntries(EVENT_FILTERS.flatMap((name) => (search[name] ? [[name, search[name]]] : [])))
