import { EVERYWHERE } from '../../access/grants.ts'
import { allowed, type Reach } from '../../access/reach.ts'
import { bitOf } from '../../access/rights.ts'
import { filterValues } from '../../contract/history/event-filters.ts'
import {
  type EventFilters,
  type EventsFormat,
  type EventsQuery,
  eventsQuery,
  histogramQuery,
} from '../../contract/history/events.ts'
import type { Query } from '../../contract/readers/input.ts'
import { catalog } from '../../events/catalog.ts'
import { knownTypes } from '../../events/define.ts'
import { METHODS } from '../../events/token.ts'
import { type EventFilter, LISTED } from '../../history/filter.ts'
import type { EventRange } from '../../history/spans.ts'
import { beforeRules } from '../route/required-rights.ts'
import type { Call } from '../route/route.ts'
import { acceptedForm } from '../wire/accept.ts'

export type EventsCall = Call<unknown, EventsQuery>

const AUDIT = bitOf('audit.read')

/** Categories of the history of one namespace. */
const IN_NAMESPACE = ['flag', 'segment', 'namespace']

/** Names that this version knows. */
const known = {
  types: new Set(Object.values(catalog).flatMap(knownTypes)),
  categories: new Set(Object.keys(catalog)),
  methods: METHODS,
}
export const query = eventsQuery(known)
export const histogram = histogramQuery(known)

const namespacesIn = beforeRules({ namespaceKey: filterValues() })

/** The namespace that a query is about: the only value of `namespaceKey`. */
export const namespaceIn = (asked: Query): string | undefined => {
  const values = namespacesIn(asked)?.namespaceKey
  return values?.any.length === 1 && values.none.length === 0 ? values.any[0] : undefined
}

/** True for a set of rights with `audit.read`. */
export const isAuditor = (reach: Reach): boolean => allowed(reach, AUDIT, EVERYWHERE)

/** True if the caller sees only the history of flags, segments and namespaces. */
const isBounded = ({ caller: { reach } }: EventsCall): boolean => reach !== undefined && !isAuditor(reach)

export type Selection = { readonly filter: EventFilter; readonly range: EventRange }

/** Filter and range of a query. */
export const selectionBy = (asked: EventFilters): Selection => {
  const { q, from, to, after, before, afterIndex, beforeIndex } = asked
  const lists = LISTED.flatMap((name) => (asked[name] ? [[name, asked[name]]] : []))
  return {
    filter: {
      ...Object.fromEntries(lists),
      ...(q !== undefined && { q }),
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
    },
    range: { after, before, afterIndex, beforeIndex },
  }
}

/** Filter and range of a query, limited to what the caller may see. */
export const selectionOf = (call: EventsCall): Selection => {
  const { filter, range } = selectionBy(call.query)
  return { filter: isBounded(call) ? { ...filter, within: IN_NAMESPACE } : filter, range }
}

const OFFERED: ReadonlyMap<string, EventsFormat> = new Map([
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['text/csv', 'csv'],
  ['application/cloudevents-batch+json', 'cloudevents'],
  ['text/event-stream', 'sse'],
])

/** Form of the answer: the query decides, else the first type in `Accept` that the route offers. */
export const formatOf = ({ query: { format }, request }: EventsCall): EventsFormat =>
  format ?? acceptedForm(request.headers.accept, OFFERED) ?? 'json'
