import { timeSlicer } from '../../base/event-loop.ts'
import type { Views } from '../../projections/views.ts'
import type { EventFilter } from '../filter.ts'
import { type Bitmap, bitsOf, intersect, isEmpty, noBits } from './bitmap.ts'
import { everyEvent, facetSets, indexConditions } from './conditions.ts'
import {
  type Facet,
  facetKey,
  type IndexDoc,
  indexView,
  positionsIn,
  positionsKey,
  rowSeals,
  type TimeRange,
  timeRangeKey,
  timesIn,
  timesKey,
  valueHash,
} from './rows.ts'

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
  const textAt = async (key: string): Promise<string | undefined> => (await read([key])).get(key)

  /** Positions of the events of a segment; undefined if they are unknown. */
  const positionsOf = async (segment: number): Promise<readonly number[] | undefined> => {
    const text = await textAt(positionsKey(segment))
    return text === undefined ? undefined : positionsIn(text)
  }

  /** Times (epoch ms) of the events of a segment; undefined if they are unknown. */
  const timesOf = async (segment: number): Promise<readonly number[] | undefined> => {
    const text = await textAt(timesKey(segment))
    return text === undefined ? undefined : timesIn(text)
  }

  /** Events of a segment by the values of a property; undefined if they are unknown. */
  const valuesOf = async (segment: number, name: Facet) => {
    const text = await textAt(facetKey(name, segment))
    return text === undefined ? undefined : facetSets(text)
  }

  return { positionsOf, timesOf, valuesOf }
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
        ...(isTimed ? [timeRangeKey(segment)] : []),
        ...conditions.flatMap(({ keys }) => keys(segment)),
      ]
      const bitsIn = async (segment: number, texts: ReadonlyMap<string, string>): Promise<Bitmap | undefined> => {
        if (!keysOf(segment).every((key) => texts.has(key))) return undefined
        const range = texts.get(timeRangeKey(segment))
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
