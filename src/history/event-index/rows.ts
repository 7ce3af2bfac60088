import { createHmac, hash } from 'node:crypto'
import { type Sealed, seals } from '../../projections/history/log-projection.ts'
import type { Row, View } from '../../projections/views.ts'
import type { Listed } from '../filter.ts'
import { distancesOf, numbersOf, type StoredSet } from './bitmap.ts'

/**
 * Index of the events of the log, in segments. The index only narrows a search; every event shown is read from the log.
 */
export const indexView: View = { name: 'event_index', version: 1, fields: [], indexes: [] }

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

/** Positions and times (epoch ms) of the events of a segment. */
export type SegmentPlaces = { readonly positions: readonly number[]; readonly times: readonly number[] }

/** Text of the positions and times in a segment: JSON with distances between them, the first ones from 0. */
export const placesText = ({ positions, times }: SegmentPlaces): string =>
  JSON.stringify({ positions: distancesOf(positions, 0), times: distancesOf(times, 0) })

/** Positions and times in such a text. */
export const placesIn = (text: string): SegmentPlaces => {
  const { positions, times } = JSON.parse(text) as SegmentPlaces
  return { positions: numbersOf(positions, 0), times: numbersOf(times, 0) }
}

/** Text of the hashes of a segment that begin with the same character, each with its set. */
export const hashedText = (sets: Iterable<readonly [hash: string, set: StoredSet]>): string => {
  let text = ''
  for (const [hash, set] of sets) text += `;${hash}=${typeof set === 'string' ? `b${set}` : set.join(',')}`
  return `${text};`
}

/** Set of the events with a hash in such a text; undefined if the hash is missing. */
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
  const { seal, holds } = seals<IndexPart>(key, 'event index', ({ id, text }) => [id, text])
  return {
    seal,
    /** Text of a row; undefined if its MAC does not match. */
    textOf: ({ key: id, doc }: Row<IndexDoc>): string | undefined =>
      doc && doc.id === id && holds(doc) ? doc.text : undefined,
  }
}

const numbered = (part: string, segment: number): string => `${part}/${String(segment).padStart(12, '0')}`

/** Key of the row with the sets of one property. */
export const facetKey = (name: Facet, segment: number): string => numbered(name, segment)
export const timesKey = (segment: number): string => numbered('times', segment)
export const placesKey = (segment: number): string => numbered('places', segment)
/** Key of the row with the hashes that begin with one character. A full segment has this row even without hashes. */
export const hashesKey = (first: string, segment: number): string => numbered(first, segment)

/** Characters with which hashes can begin. */
export const FIRST = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

/** Characters of a hash: 60 bits, so that two of ten million values are equal with a probability below 0.01 %. */
const HASH_CHARACTERS = 10

/** Returns the keyed hash of a value of a filter. Clients cannot choose values with equal hashes. */
export const valueHash = (key: Uint8Array): ((name: Listed, value: string) => string) => {
  const own = createHmac('sha256', key).update('rollcall event index values').digest('base64url')
  return (name, value) => hash('sha256', `${own}${name}=${value}`, 'base64url').slice(0, HASH_CHARACTERS)
}
