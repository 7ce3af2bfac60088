import { useQuery } from '@tanstack/react-query'
import { useDeferredValue } from 'react'
import { type Access, EVERY, holds, useAccess } from '../../api/access.ts'
import { searchFlags } from '../../api/flags.ts'
import { keys } from '../../api/keys.ts'
import { readMethods } from '../../api/methods.ts'
import { readNamespaces } from '../../api/namespaces.ts'
import { readSegments } from '../../api/segments.ts'
import { nameOf, readTokens } from '../../api/tokens.ts'
import { filterWords as words } from '../../words/history-filters.ts'
import { QUALIFIERS, type Qualifier, quotedValue, termsIn } from './filter-text.ts'
import { ACTOR_KINDS, KNOWN_VALUES } from './known-values.ts'

const SHOWN = 10

/** Completion of the word before the caret. `text` replaces the word. */
export type Suggestion = { readonly text: string; readonly label: string; readonly about?: string }

/** Value of a filter, and what it stands for. */
type Value = { readonly value: string; readonly about?: string }

/** Word before the caret: its qualifier, if it has one, and the value that is typed. */
type Word = {
  readonly start: number
  readonly minus: string
  readonly qualifier: Qualifier | undefined
  readonly typed: string
}

/** Parses the word that ends at the caret. */
export const wordBefore = (text: string, caret: number): Word => {
  const [whole = ''] = /(?:[^\s"]|"(?:[^"\\]|\\.)*"?)*$/.exec(text.slice(0, caret)) ?? []
  const start = caret - whole.length
  const [, minus = '', name = '', rest] = /^(-?)([a-z]*)(?::([\s\S]*))?$/i.exec(whole) ?? []
  const word = name.toLowerCase()
  if (rest === undefined) return { start, minus, qualifier: undefined, typed: word }
  const qualifier = Object.hasOwn(QUALIFIERS, word) ? (word as Qualifier) : undefined
  return { start, minus, qualifier, typed: rest.replaceAll('"', '') }
}

/** Matches first by the begin of a value, then by any part of it. */
const matching = (values: readonly Value[], typed: string): readonly Value[] => {
  const wanted = typed.toLowerCase()
  const has = ({ value }: Value) => value.toLowerCase().includes(wanted)
  const begins = ({ value }: Value) => value.toLowerCase().startsWith(wanted)
  return [...values.filter(begins), ...values.filter((one) => has(one) && !begins(one))]
}

type Source = (typed: string, namespace: string, signal: AbortSignal) => Promise<readonly Value[]>

const tokens: Source = async (q, _namespace, signal) =>
  (await readTokens({ kind: 'static', q, limit: SHOWN }, signal)).authentications.map((record) => ({
    value: record.id,
    about: nameOf(record),
  }))
const named = (all: readonly { readonly key: string; readonly name: string }[]): readonly Value[] =>
  all.map(({ key, name }) => ({ value: key, about: name }))

/** Values that the service knows, and the right that each search needs. */
const sources: Readonly<Partial<Record<Qualifier, { readonly read: Source; readonly right?: string }>>> = {
  ns: { read: async (q, _namespace, signal) => named((await readNamespaces({ q, limit: SHOWN }, signal)).namespaces) },
  flag: {
    right: 'flag.read',
    read: async (q, namespace, signal) =>
      named((await searchFlags(namespace, { q, at: undefined, limit: SHOWN }, signal)).flags),
  },
  segment: {
    right: 'segment.read',
    read: async (q, namespace, signal) => named((await readSegments(namespace, { q }, signal)).segments),
  },
  actor: { right: 'token.read', read: tokens },
  token: { right: 'token.read', read: tokens },
  provider: {
    read: async (_q, _namespace, signal) => (await readMethods(signal)).providers.map(({ key }) => ({ value: key })),
  },
}

/** Namespace of the search; undefined for a search that needs none. */
const placeOf = (qualifier: Qualifier | undefined, namespace: string | undefined): string | undefined =>
  qualifier === 'flag' || qualifier === 'segment' ? namespace : EVERY

const isAllowed = (access: Access | undefined, right: string | undefined, namespaceKey: string): boolean =>
  right === undefined || (access !== undefined && holds(access, { right, namespaceKey }))

/** Suggests qualifiers and values for a word; `text` is the whole text of the search field. */
export const useSuggestions = (word: Word | undefined, text: string): readonly Suggestion[] => {
  const { access } = useAccess()
  const typed = useDeferredValue(word?.typed ?? '')
  const qualifier = word?.qualifier
  const namespace = termsIn(text).find(({ name, isExcluded }) => name === 'namespaceKey' && !isExcluded)?.value
  const source = qualifier && sources[qualifier]
  const place = placeOf(qualifier, namespace)
  const { data = [] } = useQuery({
    queryKey: [...keys.history, 'suggested', qualifier, place, typed],
    queryFn: ({ signal }) => source!.read(typed, place!, signal),
    enabled: source !== undefined && place !== undefined && isAllowed(access, source.right, place),
  })
  if (!word) return []
  const { minus } = word
  if (qualifier === undefined)
    return Object.entries(words.qualifiers)
      .filter(([name]) => name.startsWith(word.typed))
      .map(([name, about]) => ({ text: `${minus}${name}:`, label: `${name}:`, about }))
  const kinds = qualifier === 'actor' ? ACTOR_KINDS : (KNOWN_VALUES[QUALIFIERS[qualifier]] ?? [])
  const values = [
    ...matching(
      kinds.map((value) => ({ value })),
      word.typed,
    ),
    ...data,
  ]
  return values.slice(0, SHOWN).map(({ value, about }) => ({
    text: `${minus}${qualifier}:${quotedValue(value)} `,
    label: value,
    ...(about !== undefined && { about }),
  }))
}

/** Whether a text is complete: no qualifier without a value, no unfinished known value, no free text that is too short. */
export const isComplete = (text: string): boolean => {
  if (/(?:^|\s)-?[a-z]+:$/i.test(text)) return false
  return termsIn(text).every(({ name, value }) => {
    if (name === 'q') return value.length >= 3
    const known = KNOWN_VALUES[name]
    return known === undefined || value.includes('*') || known.includes(value)
  })
}
