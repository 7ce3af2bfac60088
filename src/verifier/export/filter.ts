import { fail } from '../../base/failure.ts'
import type { StoredRecord } from '../entry.ts'
import { categoryOf, type EventFields, fieldsOf } from './event-fields.ts'

/**
 * Values of one filter. An event must have one of the values in `any`, unless it is empty, and must have none of those
 * in `none`.
 */
export type FilterValues = { readonly any: readonly string[]; readonly none: readonly string[] }

/**
 * Returns the values in a text, separated by commas; those that begin with `!` are excluded. A backslash escapes a comma
 * and a backslash. Undefined if there is no value.
 */
export const filterValuesIn = (text: string): FilterValues | undefined => {
  const values: string[] = ['']
  for (let n = 0; n < text.length; n++) {
    const unit = text[n]!
    if (unit === ',') values.push('')
    else values[values.length - 1] += unit === '\\' && /[\\,]/.test(text[n + 1] ?? '') ? text[++n]! : unit
  }
  const given = values.filter((value) => value !== '')
  if (given.length === 0) return undefined
  const none = given.filter((one) => one.startsWith('!')).map((one) => one.slice(1))
  return { any: given.filter((one) => !one.startsWith('!')), none }
}

/** Filters with a list of values. */
export const LISTED = [
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
] as const
export type Listed = (typeof LISTED)[number]

/** Conditions on an event; all of them must hold. `from` and `to` are RFC 3339 UTC texts: from ≤ time < to. */
export type EventFilter = { readonly [name in Listed]?: FilterValues } & {
  /** Categories that the caller may see; absent: all. */
  readonly within?: readonly string[]
  readonly q?: string
  readonly from?: string
  readonly to?: string
}

/** Returns the conditions among the values of a query. */
export const filterIn = (
  asked: {
    readonly [name in keyof EventFilter]?: EventFilter[name] | undefined
  },
): EventFilter => {
  const given = ([...LISTED, 'q', 'from', 'to'] as const).flatMap((name) =>
    asked[name] === undefined ? [] : [[name, asked[name]] as const],
  )
  return Object.fromEntries(given)
}

/** Test of one value of an event. `*` at the beginning or the end of a pattern stands for any text. */
const patternTest = (pattern: string, isOpenBefore: boolean): ((value: string) => boolean) => {
  const before = isOpenBefore && pattern.startsWith('*')
  const after = pattern.endsWith('*') && (pattern.length > 1 || !before)
  if (!before && !after) return (value) => value === pattern
  const text = pattern.slice(before ? 1 : 0, after ? -1 : undefined)
  if (before && after) return (value) => value.includes(text)
  return before ? (value) => value.endsWith(text) : (value) => value.startsWith(text)
}

type Test = (values: readonly (string | undefined)[]) => boolean

/** Test of the values that an event has for a filter. */
const testOf = ({ any, none }: FilterValues, test: (value: string) => (one: string) => boolean): Test => {
  const has = (patterns: readonly string[]) => {
    const tests = patterns.map(test)
    return (values: readonly (string | undefined)[]): boolean =>
      values.some((value) => value !== undefined && tests.some((holds) => holds(value)))
  }
  const [wanted, unwanted] = [has(any), has(none)]
  return (values) => (any.length === 0 || wanted(values)) && !unwanted(values)
}

const equal = (value: string) => (one: string) => one === value

/** Key of a flag or segment in the name of its stream; undefined for another category. */
const keyIn = (stream: string, category: string): string | undefined =>
  categoryOf(stream) === category ? stream.slice(stream.indexOf('+') + 1) : undefined

type Values = readonly (string | undefined)[]

/** Filters that need only the columns of a record. */
const BY_RECORD: readonly (readonly [Listed, (record: StoredRecord) => Values])[] = [
  ['category', ({ stream }) => [categoryOf(stream)]],
  ['stream', ({ stream }) => [stream]],
  ['flagKey', ({ stream }) => [keyIn(stream, 'flag')]],
  ['segmentKey', ({ stream }) => [keyIn(stream, 'segment')]],
]

/** Filters that need the content of a record. */
const BY_FIELDS: readonly (readonly [Listed, (fields: EventFields, record: StoredRecord) => Values])[] = [
  ['type', ({ type }) => [type]],
  ['actor', ({ actor: { id, kind } }) => [id, kind]],
  [
    'tokenId',
    ({ tokenId, actor }, { stream }) => [tokenId, actor.id, stream.startsWith('token-') ? stream.slice(6) : undefined],
  ],
  ['subject', ({ subject }) => [subject]],
  ['namespaceKey', ({ namespace }) => [namespace]],
  ['method', ({ method }) => [method]],
  ['provider', ({ provider }) => [provider]],
  ['outcome', ({ outcome }) => [outcome]],
  ['requestId', ({ meta }) => [meta?.requestId]],
  ['correlationId', ({ meta }) => [meta?.correlationId]],
  ['command', ({ meta }) => [meta?.command]],
  ['route', ({ meta }) => [meta?.route]],
]

/** Passes each value that an event has for a filter. */
export const eachValue = (record: StoredRecord, take: (name: Listed, value: string) => void): void => {
  const fields = fieldsOf(record)
  const takeAll = (name: Listed, values: Values) => {
    for (const value of values) if (typeof value === 'string') take(name, value)
  }
  for (const [name, valuesOf] of BY_RECORD) takeAll(name, valuesOf(record))
  for (const [name, valuesOf] of BY_FIELDS) takeAll(name, valuesOf(fields, record))
}

const WITH_PATTERNS: Partial<Record<Listed, (pattern: string) => (value: string) => boolean>> = {
  type: (pattern) => patternTest(pattern, true),
  stream: (pattern) => patternTest(pattern, false),
}

/** Test of the values that an event has for the filter of this name. */
export const listedTest = (name: Listed, values: FilterValues): Test => testOf(values, WITH_PATTERNS[name] ?? equal)

/** Tests of the listed filters of one table. */
const testsOf = <A extends readonly unknown[]>(
  filter: EventFilter,
  table: readonly (readonly [Listed, (...of: A) => readonly (string | undefined)[]])[],
): readonly ((...of: A) => boolean)[] =>
  table.flatMap(([name, valuesOf]) => {
    const values = filter[name]
    if (!values) return []
    const test = listedTest(name, values)
    return [(...of: A) => test(valuesOf(...of))]
  })

/** Returns the summary of an event in English, which the filter `q` searches. */
export type SummaryOf = (fields: EventFields, record: StoredRecord) => string

/**
 * Returns the fields of the records that pass, and undefined for the others. The filter `q` searches stream, type, reason,
 * route and summary, and no personal data. Without `summaryOf` all records pass it.
 */
export const eventFilter = (
  filter: EventFilter,
  summaryOf: SummaryOf | undefined,
): ((record: StoredRecord) => EventFields | 'passed' | undefined) => {
  const [early, late] = [testsOf(filter, BY_RECORD), testsOf(filter, BY_FIELDS)]
  const { from, to, within } = filter
  const q = summaryOf && filter.q?.toLowerCase()
  const contains = (fields: EventFields, record: StoredRecord): boolean => {
    const { reason, route } = fields.meta ?? {}
    return [record.stream, fields.type, reason, route, summaryOf?.(fields, record)].some(
      (text) => typeof text === 'string' && text.toLowerCase().includes(q!),
    )
  }
  return (record) => {
    if ((from !== undefined && record.time < from) || (to !== undefined && record.time >= to)) return undefined
    if (within && !within.includes(categoryOf(record.stream))) return undefined
    if (!early.every((holds) => holds(record))) return undefined
    if (late.length === 0 && q === undefined) return 'passed'
    const fields = fieldsOf(record)
    if (!late.every((holds) => holds(fields, record))) return undefined
    return q === undefined || contains(fields, record) ? fields : undefined
  }
}

/** Returns the RFC 3339 UTC text, with milliseconds, of a time with an offset; undefined for none. */
const timeIn = (text = ''): string | undefined => {
  if (text === '') return undefined
  const time = /(?:Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  // Date.parse turns February 30 into March 2.
  const isDay = new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10))
  return Number.isNaN(time) || !isDay
    ? fail('check', `The filter of the manifest has the malformed time "${text}".`)
    : new Date(time).toISOString()
}

/**
 * Returns the filter of a manifest. Names and values are applied, not validated, because a later version may have more.
 */
export const filterOfTexts = (texts: Readonly<Record<string, string>>): EventFilter =>
  filterIn({
    ...Object.fromEntries(LISTED.map((name) => [name, filterValuesIn(texts[name] ?? '')])),
    q: texts['q'],
    from: timeIn(texts['from']),
    to: timeIn(texts['to']),
  })
