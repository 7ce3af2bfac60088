import { EVENT_FILTERS, type EventFilter, type EventFilterName } from '../../api/event-filters.ts'

/** Qualifiers of the search field and the filters that they set (ui.md §11.8). */
export const QUALIFIERS = {
  actor: 'actor',
  type: 'type',
  category: 'category',
  stream: 'stream',
  token: 'tokenId',
  subject: 'subject',
  ns: 'namespaceKey',
  flag: 'flagKey',
  segment: 'segmentKey',
  method: 'method',
  provider: 'provider',
  outcome: 'outcome',
  request: 'requestId',
  correlation: 'correlationId',
  command: 'command',
  route: 'route',
  after: 'after',
  before: 'before',
  afterindex: 'afterIndex',
  beforeindex: 'beforeIndex',
} as const satisfies Readonly<Record<string, EventFilterName>>
export type Qualifier = keyof typeof QUALIFIERS

const names = new Map(Object.entries(QUALIFIERS).map(([word, name]) => [name as EventFilterName, word as Qualifier]))
/** Filters with one value. */
const SINGLE: ReadonlySet<EventFilterName> = new Set(['q', 'after', 'before', 'afterIndex', 'beforeIndex'])
/** Filters with fields of their own. */
const OUTSIDE: ReadonlySet<EventFilterName> = new Set(['from', 'to'])

/** Qualifier that sets a filter. */
export const qualifierOf = (name: string): Qualifier | undefined => names.get(name as EventFilterName)

/** One condition: a value that events must have, or must not have. */
export type Term = { readonly name: EventFilterName; readonly value: string; readonly isExcluded: boolean }

/** Values of a list as the API reads it: separated by commas, with a backslash before a literal comma or backslash. */
const listed = (text: string): readonly string[] => {
  const values = ['']
  for (const [, escaped, comma, other] of text.matchAll(/\\([\\,])|(,)|([\s\S])/g))
    if (comma === undefined) values[values.length - 1] += escaped ?? other ?? ''
    else values.push('')
  return values.filter((value) => value !== '')
}

const isBareText = (q: string): boolean => textOf(termsIn(q)) === q && termsIn(q).every(({ name }) => name === 'q')
const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`
const unquoted = (text: string): string =>
  text.replaceAll(/"((?:[^"\\]|\\.)*)"?/g, (_, inner: string) => inner.replaceAll(/\\(.)/g, '$1'))

const textOf = (terms: readonly Term[]): string => terms.map(({ value }) => value).join(' ')

/** Value behind a qualifier, in quotes if the search field would otherwise divide it. */
export const quotedValue = (value: string): string => (value !== '' && !/[\s",\\]/.test(value) ? value : quoted(value))

/** Text of a condition, as the search field reads it. */
export const termText = ({ name, value, isExcluded }: Term): string => {
  if (name === 'q') return isBareText(value) ? value : quoted(value)
  return `${isExcluded ? '-' : ''}${names.get(name)}:${quotedValue(value)}`
}

const isFullyQuoted = (text: string): boolean => /^"(?:[^"\\]|\\.)*"$/.test(text)
const isWord = (text: string): text is Qualifier => Object.hasOwn(QUALIFIERS, text)

/** Values behind a qualifier: separated by commas outside of quotes. */
const valuesIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?:[^",]|"(?:[^"\\]|\\.)*"?)+/g)].map(([value]) => unquoted(value)).filter((value) => value !== '')

/** Conditions of a text: words with a qualifier, and all other words together as free text. */
export const termsIn = (text: string): readonly Term[] => {
  const terms: Term[] = []
  const free: string[] = []
  for (const [piece] of text.matchAll(/(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g)) {
    const [, minus = '', given = '', rest = ''] = /^(-?)([a-z]+):([\s\S]*)$/i.exec(piece) ?? []
    const word = given.toLowerCase()
    const isSingle = isWord(word) && SINGLE.has(QUALIFIERS[word])
    if (!isWord(word) || (isSingle && minus !== '')) {
      free.push(piece)
      continue
    }
    const values = isSingle ? [unquoted(rest)].filter((value) => value !== '') : valuesIn(rest)
    terms.push(...values.map((value) => ({ name: QUALIFIERS[word], value, isExcluded: minus !== '' })))
  }
  const [only = ''] = free
  const q = free.length === 1 && isFullyQuoted(only) ? unquoted(only) : free.join(' ')
  return q === '' ? terms : [...terms, { name: 'q', value: q, isExcluded: false }]
}

/** Conditions of a filter, without its period. */
export const termsOf = (filter: EventFilter): readonly Term[] =>
  EVENT_FILTERS.filter((name) => !OUTSIDE.has(name)).flatMap((name) => {
    const text = filter[name]
    if (text === undefined) return []
    if (SINGLE.has(name)) return [{ name, value: text, isExcluded: false }]
    return listed(text).map((value) => {
      const isExcluded = value.startsWith('!')
      return { name, value: isExcluded ? value.slice(1) : value, isExcluded }
    })
  })

/** Filter of conditions and of a period. */
export const filterOf = (terms: readonly Term[], { from, to }: EventFilter): EventFilter => {
  const values = new Map<EventFilterName, readonly string[]>()
  for (const { name, value, isExcluded } of terms) {
    const text = SINGLE.has(name) ? value : `${isExcluded ? '!' : ''}${value.replaceAll(/[\\,]/g, '\\$&')}`
    const others = SINGLE.has(name) ? [] : (values.get(name) ?? [])
    values.set(name, [...others.filter((other) => other !== text), text])
  }
  const given = EVENT_FILTERS.flatMap((name) => {
    const texts = values.get(name)
    return texts ? [[name, texts.join(',')]] : []
  })
  return { ...Object.fromEntries(given), ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

/** Text of the search field for a filter. */
export const textOfFilter = (filter: EventFilter): string => termsOf(filter).map(termText).join(' ')
