import { createHash } from 'node:crypto'
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
import { knownNames } from '../../history/event-names.ts'
import type { LogRange, RangeBounds } from '../../history/ranges.ts'
import { type EventFilter, filterIn } from '../../verifier/export/filter.ts'
import { beforeRules } from '../route/required-rights.ts'
import type { Call } from '../route/route.ts'
import { acceptedForm } from '../wire/headers.ts'
import { parametersOf } from '../wire/path.ts'
import { opensPersonal } from './recorded-reads.ts'

export type EventsCall = Call<unknown, EventsQuery>

const AUDIT = bitOf('audit.read')

/** Categories of the history of one namespace. */
const IN_NAMESPACE = ['flag', 'segment', 'namespace']

export const query = eventsQuery(knownNames)
export const histogram = histogramQuery(knownNames)

const namespacesIn = beforeRules({ namespaceKey: filterValues() })

/**
 * Returns the namespace in which `history.read` is enough for a query: the value of `namespaceKey`, if it has exactly
 * one value. A query that opens personal data has none.
 */
export const namespaceIn = (asked: Query): string | undefined => {
  if (opensPersonal(asked)) return undefined
  const values = namespacesIn(asked)?.namespaceKey
  return values?.any.length === 1 && values.none.length === 0 ? values.any[0] : undefined
}

/** True for a set of rights with `audit.read`. */
export const isAuditor = (reach: Reach): boolean => allowed(reach, AUDIT, EVERYWHERE)

/** True if the caller sees only the history of flags, segments and namespaces. */
const isBounded = ({ caller: { reach } }: EventsCall): boolean => reach !== undefined && !isAuditor(reach)

export type Selection = { readonly filter: EventFilter; readonly bounds: RangeBounds }

/** Filter and range of a query. */
export const selectionBy = (asked: EventFilters): Selection => {
  const { after, before, afterIndex, beforeIndex } = asked
  return { filter: filterIn(asked), bounds: { after, before, afterIndex, beforeIndex } }
}

/** Maximum length of the texts of a recorded filter together, in UTF-16 units. */
const RECORDED = 4_096

/** First part of a text, and the SHA-256 digest of the whole text. */
const cut = (text: string, length: number): string =>
  `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}… sha256:${createHash('sha256').update(text).digest('hex')}`

/** Filters of a request as given, by declared name. Text beyond `RECORDED` is replaced by a digest. */
export const filterGiven = ({ request }: EventsCall): Readonly<Record<string, string>> => {
  const given = [...query.filters(parametersOf(request))].filter(([, text]) => text !== '')
  let left = RECORDED
  return Object.fromEntries(
    given.map(([name, text]) => {
      const kept = text.length <= left ? text : cut(text, left)
      left = Math.max(0, left - text.length)
      return [name, kept]
    }),
  )
}

/** Indexes of a range of the log: the first one, and the one after the last. */
export const indexesOf = ({ low, high }: LogRange): { readonly fromIndex: number; readonly toIndex: number } => {
  const fromIndex = low.index + 1
  return { fromIndex, toIndex: Math.max(fromIndex, high.index + 1) }
}

/** Filter and range of a query, limited to what the caller may see. */
export const selectionOf = (call: EventsCall): Selection => {
  const { filter, bounds } = selectionBy(call.query)
  return { filter: isBounded(call) ? { ...filter, within: IN_NAMESPACE } : filter, bounds }
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
