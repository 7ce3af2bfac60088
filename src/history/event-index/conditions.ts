import { type EventFilter, type FilterValues, LISTED, listedTest } from '../filter.ts'
import { addSet, type Bitmap, bitsBetween, noBits, SEGMENT, type StoredSet, subtract } from './bitmap.ts'
import { type Facet, type FacetSets, facetKey, hashedSet, hashesKey, isFacet, type valueHash } from './rows.ts'

/** Index rows that a condition reads: those of one property (facet), or the hashes that begin with a character. */
type Needed = (segment: number) => readonly string[]

/** Returns the events of a segment that meet one condition, from the rows that it needs. */
type Condition = { readonly keys: Needed; readonly bits: (texts: readonly string[]) => Bitmap }

export const everyEvent = (): Bitmap => bitsBetween(0, SEGMENT)

/** Values of a property (facet), each with the set of its events. */
export const facetSets = (text: string): readonly (readonly [string, StoredSet])[] =>
  Object.entries(JSON.parse(text) as FacetSets)

/**
 * Events whose value of a property (facet) passes the condition. If `any` is empty, events without a value of the
 * property pass too.
 */
const facetCondition = (name: Facet, values: FilterValues): Condition => {
  const passes = listedTest(name, values)
  const isWanted = values.any.length > 0
  return {
    keys: (segment) => [facetKey(name, segment)],
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
    keys: (segment) => first.map((character) => hashesKey(character, segment)),
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
  keys: (segment) => [facetKey('category', segment)],
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
export const indexConditions = (filter: EventFilter, hashOf: ReturnType<typeof valueHash>): Compiled => {
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
