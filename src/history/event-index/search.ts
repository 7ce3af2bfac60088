import { sliced } from '../../base/event-loop.ts'
import type { Views } from '../../projections/views.ts'
import { type EventFilter, type FilterValues, LISTED, listedTest } from '../../verifier/export/filter.ts'
import {
  addSet,
  type Bitmap,
  bitsBetween,
  bitsOf,
  intersect,
  isEmpty,
  noBits,
  SEGMENT,
  type StoredSet,
  subtract,
} from './bitmap.ts'
import {
  type Facet,
  type FacetSets,
  hashedSet,
  type IndexDoc,
  indexView,
  isFacet,
  positionsIn,
  rowKey,
  rowSeals,
  type TimeRange,
  timesIn,
  valueHash,
} from './rows.ts'

/** Index rows that a condition reads: those of one property (facet), or the hashes that begin with a character. */
type Needed = (segment: number) => readonly string[]

/** Returns the events of a segment that meet one condition, from the rows that it needs. */
type Condition = { readonly keys: Needed; readonly bits: (texts: readonly string[]) => Bitmap }

const everyEvent = (): Bitmap => bitsBetween(0, SEGMENT)

/** Values of a property (facet), each with the set of its events. */
const facetSets = (text: string): readonly (readonly [string, StoredSet])[] =>
  Object.entries(JSON.parse(text) as FacetSets)

/**
 * Events whose value of a property (facet) passes the condition. If `any` is empty, events without a value of the
 * property pass too.
 */
const facetCondition = (name: Facet, values: FilterValues): Condition => {
  const passes = listedTest(name, values)
  const isWanted = values.any.length > 0
  return {
    keys: (segment) => [rowKey(name, segment)],
    bits: ([text]) => {
      const chosen = noBits()
      for (const [value, set] of facetSets(text!)) if (passes([value]) === isWanted) addSet(chosen, set)
      if (isWanted) return chosen
      const bits = everyEvent()
      subtract(bits, chosen)
      return bits
    },
  }
}

/** Events that have one of the wanted hashes, if there is any, and none of the unwanted ones. */
const hashCondition = (wanted: readonly string[], unwanted: readonly string[]): Condition => {
  const first = [...new Set([...wanted, ...unwanted].map((hash) => hash[0]!))]
  return {
    keys: (segment) => first.map((character) => rowKey(character, segment)),
    bits: (texts) => {
      const withAny = (hashes: readonly string[]) => {
        const bits = noBits()
        for (const hash of hashes) addSet(bits, hashedSet(texts[first.indexOf(hash[0]!)]!, hash) ?? [])
        return bits
      }
      const bits = wanted.length > 0 ? withAny(wanted) : everyEvent()
      if (unwanted.length > 0) subtract(bits, withAny(unwanted))
      return bits
    },
  }
}

/** True if a stream with one of these names or patterns can have this category. */
const canHave = (streams: readonly string[], category: string): boolean =>
  streams.some((stream) => {
    const text = stream.endsWith('*') ? stream.slice(0, -1) : stream
    return `${category}-`.startsWith(text) || text.startsWith(`${category}-`) || category === ''
  })

/** Events whose category can have one of these streams. */
const streamCondition = ({ any }: FilterValues): Condition => ({
  keys: (segment) => [rowKey('category', segment)],
  bits: ([text]) => {
    if (any.length === 0) return everyEvent()
    const bits = noBits()
    for (const [category, set] of facetSets(text!)) if (canHave(any, category)) addSet(bits, set)
    return bits
  },
})

type Compiled = {
  readonly conditions: readonly Condition[]
  /** False if the events found must be tested further. */
  readonly isExact: boolean
}

/** Compiles the conditions of a filter that the index knows. */
const indexConditions = (filter: EventFilter, hashOf: ReturnType<typeof valueHash>): Compiled => {
  const conditions: Condition[] = []
  let isExact = filter.q === undefined
  if (filter.within) conditions.push(facetCondition('category', { any: filter.within, none: [] }))
  for (const name of LISTED) {
    const values = filter[name]
    if (!values) continue
    const hashes = (texts: readonly string[]) => texts.map((value) => hashOf(name, value))
    const hasPattern = name === 'stream' && [...values.any, ...values.none].some((value) => value.endsWith('*'))
    if (hasPattern) isExact = false
    if (isFacet(name)) conditions.push(facetCondition(name, values))
    else conditions.push(hasPattern ? streamCondition(values) : hashCondition(hashes(values.any), hashes(values.none)))
  }
  return { conditions, isExact }
}

type Sources = {
  readonly views: Pick<Views, 'getMany'>
  readonly key: Uint8Array
  /** Called for a row of the index whose MAC does not match. */
  readonly onDamage: (what: string) => void
}

/** Reads the texts of rows by key. Rows that are missing or whose MAC does not match are left out. */
const textReader = ({ views, key, onDamage }: Sources) => {
  const { textOf } = rowSeals(key)
  return async (keys: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const texts = new Map<string, string>()
    for (const row of await views.getMany<IndexDoc>(indexView, keys)) {
      const text = textOf(row)
      if (text === undefined) onDamage(row.key)
      else texts.set(row.key, text)
    }
    return texts
  }
}

/** Returns whether all, some or none of the times of a segment are within the filter. */
const timeTest = ({ first, last }: TimeRange, { from, to }: EventFilter): 'all' | 'none' | 'some' => {
  if ((from !== undefined && last < from) || (to !== undefined && first >= to)) return 'none'
  return (from === undefined || first >= from) && (to === undefined || last < to) ? 'all' : 'some'
}

/** Reads the rows of single segments. Their content is undefined if a row is missing or its MAC does not match. */
const segmentReader = (read: ReturnType<typeof textReader>) => {
  const contentOf = async <T>(part: string, segment: number, parse: (text: string) => T): Promise<T | undefined> => {
    const text = (await read([rowKey(part, segment)])).values().next().value
    return text === undefined ? undefined : parse(text)
  }
  return {
    positionsOf: (segment: number) => contentOf('positions', segment, positionsIn),
    /** Times (epoch ms) of the events of a segment. */
    timesOf: (segment: number) => contentOf('times', segment, timesIn),
    /** Events of a segment by the values of a property. */
    valuesOf: (segment: number, name: Facet) => contentOf(name, segment, facetSets),
  }
}

/** Searches the index of events. */
export const eventSearch = (sources: Sources) => {
  const read = textReader(sources)
  const rows = segmentReader(read)
  const hashOf = valueHash(sources.key)

  /** Events of a segment whose time is within the filter; undefined if the times are unknown. */
  const withinTime = async (segment: number, range: TimeRange, filter: EventFilter): Promise<Bitmap | undefined> => {
    const test = timeTest(range, filter)
    if (test !== 'some') return test === 'all' ? everyEvent() : noBits()
    const [from, to] = [
      Date.parse(filter.from ?? range.first),
      filter.to === undefined ? Infinity : Date.parse(filter.to),
    ]
    const times = await rows.timesOf(segment)
    return times && bitsOf((offset) => times[offset]! >= from && times[offset]! < to)
  }

  return {
    ...rows,
    onDamage: sources.onDamage,
    /** Search of the index for a filter. */
    by: (filter: EventFilter) => {
      const { conditions, isExact } = indexConditions(filter, hashOf)
      const isTimed = filter.from !== undefined || filter.to !== undefined
      const keysOf = (segment: number) => [
        ...(isTimed ? [rowKey('timeRange', segment)] : []),
        ...conditions.flatMap(({ keys }) => keys(segment)),
      ]
      const bitsIn = async (segment: number, texts: ReadonlyMap<string, string>): Promise<Bitmap | undefined> => {
        if (!keysOf(segment).every((key) => texts.has(key))) return undefined
        const range = texts.get(rowKey('timeRange', segment))
        const bits = range ? await withinTime(segment, JSON.parse(range) as TimeRange, filter) : everyEvent()
        for (const { keys, bits: meeting } of conditions) {
          if (!bits || isEmpty(bits)) return bits
          intersect(bits, meeting(keys(segment).map((key) => texts.get(key)!)))
        }
        return bits
      }
      return {
        isExact,
        /** Number of index rows that are read for each segment. */
        rows: keysOf(0).length,
        /** True if the index has no condition of the filter except its times. */
        isPlain: conditions.length === 0,
        /** Events of each segment that may pass the filter; undefined for a segment that is not in the index. */
        find: async (segments: readonly number[]): Promise<readonly (Bitmap | undefined)[]> => {
          const texts = await read([...new Set(segments.flatMap(keysOf))])
          const found: (Bitmap | undefined)[] = []
          for await (const part of sliced([segments]))
            for (const segment of part) found.push(await bitsIn(segment, texts))
          return found
        },
      }
    },
  }
}
export type EventSearch = ReturnType<typeof eventSearch>
export type FilterSearch = ReturnType<EventSearch['by']>
