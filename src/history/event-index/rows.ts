import { createHmac, hash } from 'node:crypto'
import { type Sealed, seals } from '../../projections/history/log-marks.ts'
import type { Row, View } from '../../projections/views.ts'
import type { Listed } from '../../verifier/export/filter.ts'
import { distancesOf, numbersOf, type StoredSet } from './bitmap.ts'

/**
 * Index of the events of the log, in segments. The index only narrows a search; every event shown is read from the log.
 */
export const indexView: View = { name: 'event_index', version: 2, fields: [], indexes: [] }

/**
 * Filters by properties with few different values. A segment lists these values as text. Values of the other filters
 * are hashed.
 */
export const FACETS = [
  'type',
  'category',
  'namespaceKey',
  'method',
  'provider',
  'outcome',
  'command',
  'route',
] as const satisfies readonly Listed[]
export type Facet = (typeof FACETS)[number]

export const isFacet = (name: Listed): name is Facet => (FACETS as readonly Listed[]).includes(name)

/** Sets of the events of a segment by the values of one property, as JSON. */
export type FacetSets = Readonly<Record<string, StoredSet>>

/** Least and greatest event time in a segment, as JSON. */
export type TimeRange = { readonly first: string; readonly last: string }

/**
 * Text of the positions in a segment: JSON with the distances between them, the first from 0. `-n` stands for n further
 * distances that equal the one before.
 */
export const positionsText = (positions: readonly number[]): string => {
  const runs: number[] = []
  let last = 0
  for (const distance of distancesOf(positions, 0)) {
    if (distance !== last) runs.push(distance)
    else if (runs.at(-1)! < 0) runs[runs.length - 1]!--
    else runs.push(-1)
    last = distance
  }
  return JSON.stringify(runs)
}

/** Positions in such a text. */
export const positionsIn = (text: string): readonly number[] => {
  const positions: number[] = []
  let [position, distance] = [0, 0]
  for (const run of JSON.parse(text) as readonly number[]) {
    if (run > 0) distance = run
    for (let n = run > 0 ? 1 : -run; n > 0; n--) positions.push((position += distance))
  }
  return positions
}

/** Text of the times (epoch ms) of the events of a segment: JSON with the distances between them, the first from 0. */
export const timesText = (times: readonly number[]): string => JSON.stringify(distancesOf(times, 0))

/** Times in such a text. */
export const timesIn = (text: string): readonly number[] => numbersOf(JSON.parse(text) as readonly number[], 0)

/** Text of a hash and its set. The hashes that begin with the same character are joined, and end with a semicolon. */
export const hashedText = (hash: string, set: StoredSet): string =>
  `;${hash}=${typeof set === 'string' ? `b${set}` : set.join(',')}`

/** Set of the events with a hash in such a joined text; undefined if the hash is missing. */
export const hashedSet = (text: string, hash: string): StoredSet | undefined => {
  const found = text.indexOf(`;${hash}=`)
  if (found < 0) return undefined
  const begin = found + hash.length + 2
  const set = text.slice(begin, text.indexOf(';', begin))
  return set.startsWith('b') ? set.slice(1) : set.split(',').map(Number)
}

/** A row of a segment: its key and its text. */
type IndexPart = { readonly id: string; readonly text: string }
export type IndexDoc = Sealed<IndexPart>

/** Adds a MAC to the text of a row, and verifies it. */
export const rowSeals = (key: Uint8Array) => {
  const { seal, holds } = seals<IndexPart>(key, 'event index', ({ id, text }) => `${id} ${text}`)
  return {
    seal,
    /** Text of a row; undefined if its MAC does not match. */
    textOf: ({ key: id, doc }: Row<IndexDoc>): string | undefined =>
      doc && doc.id === id && holds(doc) ? doc.text : undefined,
  }
}

/**
 * Key of a row of a segment. `part`: a property with its sets, `positions`, `times` or `timeRange` of all events, or the
 * first character of hashes. A full segment has a row of hashes even without any.
 */
export const rowKey = (part: string, segment: number): string => `${part}/${String(segment).padStart(12, '0')}`

/** Characters with which hashes can begin. */
export const FIRST = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

/** Characters of a hash: 60 bits, so that two of ten million values are equal with a probability below 0.01 %. */
const HASH_CHARACTERS = 10

/** Returns the keyed hash of a value of a filter. Clients cannot choose values with equal hashes. */
export const valueHash = (key: Uint8Array): ((name: Listed, value: string) => string) => {
  const own = createHmac('sha256', key).update('rollcall event index values').digest('base64url')
  return (name, value) => hash('sha256', `${own}${name}=${value}`, 'base64url').slice(0, HASH_CHARACTERS)
}
