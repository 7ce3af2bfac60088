import { timeSlicer } from '../../event-loop.ts'
import type { Views } from '../../projections/views.ts'
import type { EventFilter } from '../filter.ts'
import { addSet, type Bitmap, bitsOf, intersect, noBits, numbersOf } from './bitmap.ts'
import { everyEvent, indexConditions } from './conditions.ts'
import {
  type Facet,
  type FacetSets,
  facetKey,
  type IndexDoc,
  indexView,
  partSeals,
  placesKey,
  type SegmentPlaces,
  type TimeRange,
  timesKey,
  valueHash,
} from './rows.ts'

type Sources = {
  readonly views: Pick<Views, 'getMany'>
  readonly key: Uint8Array
  /** Called for a row of the index that is not as it was written. */
  readonly onDamage: (what: string) => void
}

/** Positions and times of the events of a segment. */
export type Places = { readonly positions: readonly number[]; readonly times: readonly number[] }

/** Reads the texts of rows by key. Rows that are missing or not as written are left out. */
const textReader = ({ views, key, onDamage }: Sources) => {
  const { holds } = partSeals(key)
  return async (keys: readonly string[]): Promise<ReadonlyMap<string, string>> => {
    const texts = new Map<string, string>()
    for (const { key: id, doc } of await views.getMany<IndexDoc>(indexView, keys))
      if (doc && doc.id === id && holds(doc)) texts.set(id, doc.text)
      else onDamage(id)
    return texts
  }
}

/** Tells whether all, some or none of the times of a segment are within the filter. */
const timeTest = ({ first, last }: TimeRange, { from, to }: EventFilter): 'all' | 'none' | 'some' => {
  if ((from !== undefined && last < from) || (to !== undefined && first >= to)) return 'none'
  return (from === undefined || first >= from) && (to === undefined || last < to) ? 'all' : 'some'
}

/** Searches the index of events. */
export const eventSearch = (sources: Sources) => {
  const read = textReader(sources)
  const hashOf = valueHash(sources.key)

  const placesOf = async (segment: number): Promise<Places | undefined> => {
    const text = (await read([placesKey(segment)])).get(placesKey(segment))
    if (text === undefined) return undefined
    const { positions, times } = JSON.parse(text) as SegmentPlaces
    return { positions: numbersOf(positions, 0), times: numbersOf(times, 0) }
  }

  /** Events of a segment by the values of a facet; undefined if they are unknown. */
  const valuesOf = async (segment: number, name: Facet) => {
    const text = (await read([facetKey(name, segment)])).get(facetKey(name, segment))
    if (text === undefined) return undefined
    return Object.entries(JSON.parse(text) as FacetSets).map(([value, set]) => {
      const bits = noBits()
      addSet(bits, set)
      return [value, bits] as const
    })
  }

  /** Events of a segment whose time is within the filter; undefined if the times are unknown. */
  const withinTime = async (segment: number, range: TimeRange, filter: EventFilter): Promise<Bitmap | undefined> => {
    const test = timeTest(range, filter)
    if (test !== 'some') return test === 'all' ? everyEvent() : noBits()
    const [from, to] = [
      Date.parse(filter.from ?? range.first),
      filter.to === undefined ? Infinity : Date.parse(filter.to),
    ]
    const times = (await placesOf(segment))?.times
    return times && bitsOf((offset) => times[offset]! >= from && times[offset]! < to)
  }

  return {
    placesOf,
    valuesOf,
    onDamage: sources.onDamage,
    /** Search for a filter. */
    by: (filter: EventFilter) => {
      const { conditions, isExact } = indexConditions(filter, hashOf)
      const isTimed = filter.from !== undefined || filter.to !== undefined
      const keysOf = (segment: number) => [
        ...(isTimed ? [timesKey(segment)] : []),
        ...conditions.flatMap(({ keys }) => keys(segment)),
      ]
      const bitsIn = async (segment: number, texts: ReadonlyMap<string, string>): Promise<Bitmap | undefined> => {
        if (!keysOf(segment).every((key) => texts.has(key))) return undefined
        const times = texts.get(timesKey(segment))
        const bits = times ? await withinTime(segment, JSON.parse(times) as TimeRange, filter) : everyEvent()
        for (const condition of conditions)
          if (bits) intersect(bits, condition.bits(condition.keys(segment).map((key) => texts.get(key)!)))
        return bits
      }
      return {
        isExact,
        /** Number of rows that are read of each segment. */
        rows: keysOf(0).length,
        /** True if the index has no condition of the filter but its times. */
        isPlain: conditions.length === 0,
        /** Events of each segment that may pass; undefined for a segment that is not in the index. */
        find: async (segments: readonly number[]): Promise<readonly (Bitmap | undefined)[]> => {
          const texts = await read([...new Set(segments.flatMap(keysOf))])
          const found: (Bitmap | undefined)[] = []
          const pause = timeSlicer()
          for (const segment of segments) {
            found.push(await bitsIn(segment, texts))
            const paused = pause()
            if (paused) await paused
          }
          return found
        },
      }
    },
  }
}
export type EventSearch = ReturnType<typeof eventSearch>
export type FilterSearch = ReturnType<EventSearch['by']>
