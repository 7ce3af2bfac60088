import { type Bitmap, membersOf, offsetsIn, type StoredSet } from './event-index/bitmap.ts'
import type { Sources } from './event-index/steps.ts'
import { examine } from './examine.ts'
import type { Facts, IndexedEvent } from './facts.ts'
import type { EventFilter } from './filter.ts'
import type { Span } from './spans.ts'

/** Properties by which events can be counted from the index. */
type Grouping = 'method' | 'provider' | 'namespaceKey'

/** Value of a property of an event. */
export const groupOf = (facts: Facts, by: Grouping): string | undefined =>
  by === 'namespaceKey' ? facts.namespace : facts[by]

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
  span: Span,
  { filter, by, amounts }: Counting,
  most: number,
  add: Add,
): Promise<boolean> => {
  const { search } = sources
  const amountsOf = amounts ?? (({ facts }: IndexedEvent): readonly Amount[] => [[by && groupOf(facts, by), 1]])

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
  return examine(sources, filter, span, { most, decided, take })
}
