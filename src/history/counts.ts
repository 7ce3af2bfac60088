import type { EventFields, IndexedEvent } from '../verifier/export/event-fields.ts'
import type { EventFilter } from '../verifier/export/filter.ts'
import { type Bitmap, countBits, membersOf, offsetsIn, type StoredSet } from './event-index/bitmap.ts'
import { type Sources, scanEvents } from './event-index/scan.ts'
import { type Head, type LogRange, type RangeBounds, rangeOf } from './ranges.ts'

/** Properties by which events can be counted from the index. */
type Grouping = 'method' | 'provider' | 'namespaceKey'

/** Value of a property of an event. */
export const groupOf = (fields: EventFields, by: Grouping): string | undefined =>
  by === 'namespaceKey' ? fields.namespace : fields[by]

/** Share of an event in a count: a value of the property to count by, if there is one, and a number. */
type Amount = readonly [by: string | undefined, count: number]

export type Counting = {
  readonly filter: EventFilter
  /**
   * Counts each event as one, by this property. In that case the index alone is enough if it has all conditions of the
   * filter.
   */
  readonly by?: Grouping | undefined
  /** Reads each event and returns the number that it adds. */
  readonly amounts?: ((event: IndexedEvent) => readonly Amount[]) | undefined
}

/** Receives the number that an event adds. `time`: epoch ms. */
type Add = (time: number, by: string | undefined, count: number) => void

/** Values of a property by the offset of the event in its segment. */
const valueByOffset = (values: readonly (readonly [string, StoredSet])[]): ReadonlyMap<number, string> =>
  new Map(values.flatMap(([value, set]) => membersOf(set).map((offset) => [offset, value] as const)))

/**
 * Counts the events of a range of the log that pass a filter, with their times. The function examines at most `most`
 * events that the index does not decide, and returns false if there are more.
 */
export const tally = (
  sources: Sources,
  range: LogRange,
  { filter, by, amounts }: Counting,
  most: number,
  add: Add,
): Promise<boolean> => {
  const { search } = sources
  const amountsOf = amounts ?? (({ fields }: IndexedEvent): readonly Amount[] => [[by && groupOf(fields, by), 1]])

  /** Counts events from the index alone. Returns false if it lacks their times or values. */
  const decided = async (segment: number, bits: Bitmap): Promise<boolean> => {
    if (amounts) return false
    const offsets = offsetsIn(bits)
    if (offsets.length === 0) return true
    const times = await search.timesOf(segment)
    const values = by === undefined ? [] : await search.valuesOf(segment, by)
    if (!times || !values) return false
    const valueAt = valueByOffset(values)
    for (const offset of offsets) add(times[offset]!, valueAt.get(offset), 1)
    return true
  }
  const take = (event: IndexedEvent): void => {
    const time = Date.parse(event.record.time)
    if (!Number.isNaN(time)) for (const [value, count] of amountsOf(event)) add(time, value, count)
  }
  return scanEvents(sources, filter, range, { most, decided, take })
}

/** Steps in seconds. Larger steps are multiples of the last one. */
const STEPS = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800, 2_592_000]
/** Maximum number of events examined that the index does not decide. */
const EXAMINED = 200_000

/** A period in epoch ms, from 1970 on: from ≤ time < to. */
export type Period = { readonly from: number; readonly to: number }

/** Number of buckets of a step that a period touches. */
const bucketsOf = ({ from, to }: Period, step: number): number =>
  to <= from ? 0 : Math.floor((to - 1) / (step * 1000)) - Math.floor(from / (step * 1000)) + 1

/** Smallest step in seconds that divides a period into at most `most` buckets. */
export const stepOf = (period: Period, most: number): number => {
  const found = STEPS.find((step) => bucketsOf(period, step) <= most)
  if (found !== undefined) return found
  const last = STEPS.at(-1)!
  for (let times = 2; ; times++) if (bucketsOf(period, last * times) <= most) return last * times
}

type Histogram = {
  readonly step: number
  readonly buckets: readonly { readonly start: number; readonly count: number }[]
  readonly total: number
  readonly exact: boolean
}

export type HistogramRequest = {
  readonly filter: EventFilter
  readonly bounds: RangeBounds
  readonly period: Period
  /** Maximum number of buckets. */
  readonly most: number
}

/** Counts the events of a period that pass a filter, in buckets of equal length. A bucket begins at a multiple of it. */
export const histogramOf = async (
  sources: Sources,
  { filter, bounds, period, most }: HistogramRequest,
  head: Head,
): Promise<Histogram> => {
  const step = stepOf(period, most)
  const first = Math.floor(period.from / (step * 1000))
  const counts = Array.from({ length: bucketsOf(period, step) }, () => 0)
  const [from, to] = [period.from, period.to].map((ms) => new Date(ms).toISOString()) as [string, string]
  const within = { ...filter, from, to }
  const exact = await tally(
    sources,
    await rangeOf(sources, bounds, within, head),
    { filter: within },
    EXAMINED,
    (time) => {
      const n = Math.floor(time / (step * 1000)) - first
      if (counts[n] !== undefined) counts[n]++
    },
  )
  return {
    step,
    buckets: counts.map((count, n) => ({ start: (first + n) * step * 1000, count })),
    total: counts.reduce((sum, count) => sum + count, 0),
    exact,
  }
}

/** Maximum result of a count. */
const COUNTED = 10_000

/** Counts the events of a range that pass the filter, up to `COUNTED`. Events that the index knows are not read. */
export const countEvents = async (
  sources: Sources,
  bounds: RangeBounds,
  filter: EventFilter,
  head: Head,
): Promise<{ readonly value: number; readonly exact: boolean }> => {
  const range = await rangeOf(sources, bounds, filter, head)
  const all = Math.max(0, range.high.index - range.low.index)
  if (Object.keys(filter).length === 0) return { value: Math.min(all, COUNTED), exact: all <= COUNTED }
  let value = 0
  const isWhole = await scanEvents(sources, filter, range, {
    most: EXAMINED,
    decided: (_, bits) => {
      value += countBits(bits)
      return true
    },
    take: () => void value++,
    isEnough: () => value > COUNTED,
  })
  return { value: Math.min(value, COUNTED), exact: isWhole }
}
