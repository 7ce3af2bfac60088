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
import { type EventFilter, filterIn } from '../../history/filter.ts'
import { knownNames } from '../../history/known-names.ts'
import type { EventRange } from '../../history/spans.ts'
import { beforeRules } from '../route/required-rights.ts'
import type { Call } from '../route/route.ts'
import { acceptedForm } from '../wire/accept.ts'

export type EventsCall = Call<unknown, EventsQuery>

const AUDIT = bitOf('audit.read')

/** Categories of the history of one namespace. */
const IN_NAMESPACE = ['flag', 'segment', 'namespace']

export const query = eventsQuery(knownNames)
export const histogram = histogramQuery(knownNames)

const namespacesIn = beforeRules({ namespaceKey: filterValues() })

/** Returns the namespace that a query concerns: the value of `namespaceKey`, if it has exactly one value. */
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
  const { after, before, afterIndex, beforeIndex } = asked
  return { filter: filterIn(asked), range: { after, before, afterIndex, beforeIndex } }
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

/** Format of the answer: the parameter `format`, or, without it, the first type in `Accept` that the route offers. */
export const formatOf = ({ query: { format }, request }: EventsCall): EventsFormat =>
  format ?? acceptedForm(request.headers.accept, OFFERED) ?? 'json'
