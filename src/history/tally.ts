import { timeSlicer } from '../event-loop.ts'
import { type Bitmap, offsetsIn } from './event-index/bitmap.ts'
import type { Places } from './event-index/search.ts'
import { partsOf, type SegmentPart, type Sources, stepsOfPart } from './event-index/steps.ts'
import type { Facts, IndexedEvent } from './facts.ts'
import { type EventFilter, eventFilter } from './filter.ts'
import type { Span } from './spans.ts'

/** Facets to count by. */
type Grouping = 'method' | 'provider' | 'namespaceKey'

/** Value of a facet in the facts of an event. */
export const groupOf = (facts: Facts, by: Grouping): string | undefined =>
  by === 'namespaceKey' ? facts.namespace : facts[by]

/** Share of an event in a count: a value of the property to count by, if there is one, and a number. */
type Amount = readonly [by: string | undefined, count: number]

export type Counting = {
  readonly filter: EventFilter
  /** Counts each event as one, by this facet. Then the index is enough where it has all conditions of the filter. */
  readonly by?: Grouping | undefined
  /** Reads each event and returns what it counts for. */
  readonly amounts?: ((event: IndexedEvent) => readonly Amount[]) | undefined
}

/** Receives what an event counts for. `time`: epoch ms. */
type Add = (time: number, by: string | undefined, count: number) => void

/** Values of a facet by offset in the segment. */
const valueByOffset = (values: readonly (readonly [string, Bitmap])[]): ReadonlyMap<number, string> =>
  new Map(values.flatMap(([value, bits]) => offsetsIn(bits).map((offset) => [offset, value] as const)))

/** Counts the events of a part from the index alone. Returns false if it lacks something. */
const countedByIndex = async (
  { search }: Sources,
  { segment, bits, isExact }: SegmentPart,
  { by, amounts }: Counting,
  add: Add,
): Promise<boolean> => {
  if (!bits || !isExact || amounts) return false
  const offsets = offsetsIn(bits)
  if (offsets.length === 0) return true
  const places: Places | undefined = await search.placesOf(segment)
  const values = by === undefined ? [] : await search.valuesOf(segment, by)
  if (!places || !values) return false
  const valueAt = valueByOffset(values)
  for (const offset of offsets) add(places.times[offset]!, valueAt.get(offset), 1)
  return true
}

/**
 * Counts the events of a span that pass a filter, with their times. The function examines at most `most` events that
 * the index does not decide, and returns false if there are more.
 */
export const tally = async (
  sources: Sources,
  span: Span,
  counting: Counting,
  most: number,
  add: Add,
): Promise<boolean> => {
  const { filter, by, amounts = ({ facts }) => [[by && groupOf(facts, by), 1]] } = counting
  const passes = eventFilter(filter)
  const pause = timeSlicer()
  let examined = 0
  for await (const part of partsOf(sources, filter, span)) {
    if (!(await countedByIndex(sources, part, counting, add)))
      for await (const steps of stepsOfPart(sources, passes, part, span))
        for (const { event } of steps) {
          if (examined++ === most) return false
          const time = Date.parse(event?.record.time ?? '')
          if (event && !Number.isNaN(time)) for (const [value, count] of amounts(event)) add(time, value, count)
          const paused = pause()
          if (paused) await paused
        }
    const paused = pause()
    if (paused) await paused
  }
  sources.signal.throwIfAborted()
  return true
}
