import { timeSlicer } from '../../event-loop.ts'
import type { Stored } from '../../events/log.ts'
import type { LogProjection, Sources } from '../../projections/history/log-projection.ts'
import type { Checkpoint, Row } from '../../projections/views.ts'
import { eachValue, LISTED, type Listed } from '../filter.ts'
import { SEGMENT, type StoredSet, storedSet } from './bitmap.ts'
import {
  FACETS,
  FIRST,
  facetKey,
  hashedText,
  hashesKey,
  type IndexDoc,
  indexView,
  isFacet,
  placesIn,
  placesKey,
  placesText,
  rowSeals,
  timesKey,
  valueHash,
} from './rows.ts'

/** Maximum length of an indexed value. No version of the service writes a longer value. */
const LONGEST = 512

type Offsets = Map<string, number[]>

/** Adds the offset of an event once; offsets arrive in ascending order. */
const addOffset = (offsets: Offsets, value: string, offset: number): void => {
  const found = offsets.get(value)
  if (!found) offsets.set(value, [offset])
  else if (found.at(-1) !== offset) found.push(offset)
}

const storedSets = (offsets: Offsets): Readonly<Record<string, StoredSet>> =>
  Object.fromEntries(Array.from(offsets, ([value, found]) => [value, storedSet(found)]))

/** Time in epoch ms; undefined if it is not an RFC 3339 UTC text with milliseconds. */
const epochOf = (time: string): number | undefined => {
  const ms = Date.parse(time)
  return !Number.isNaN(ms) && new Date(ms).toISOString() === time ? ms : undefined
}

/** Text of one row of a segment. */
type RowText = readonly [key: string, text: string]

/** Collects the events of one segment. */
const openSegment = (number: number, hashOf: ReturnType<typeof valueHash>) => {
  const facets = new Map<Listed, Offsets>(FACETS.map((name) => [name, new Map()]))
  const hashed = new Map<Listed, Offsets>(
    LISTED.flatMap((name) => (isFacet(name) ? [] : [[name, new Map() as Offsets]])),
  )
  const [positions, times]: [number[], number[]] = [[], []]
  let isIndexable = true

  const addValue = (name: Listed, value: string, offset: number) => {
    if (value.length > LONGEST) isIndexable = false
    else addOffset(facets.get(name) ?? hashed.get(name)!, value, offset)
  }

  const hashParts = async (): Promise<readonly RowText[]> => {
    const sets = new Map<string, (readonly [string, StoredSet])[]>(FIRST.map((first) => [first, []]))
    const pause = timeSlicer()
    for (const [name, values] of hashed)
      for (const [value, offsets] of values) {
        const hash = hashOf(name, value)
        sets.get(hash[0]!)!.push([hash, storedSet(offsets)])
        const paused = pause()
        if (paused) await paused
      }
    return Array.from(sets, ([first, set]) => [hashesKey(first, number), hashedText(set)] as const)
  }

  return {
    /** Index of the next event in the log. */
    next: (): number => number * SEGMENT + positions.length,
    isFull: (): boolean => positions.length === SEGMENT,
    add: (record: Stored): void => {
      const [offset, time] = [positions.length, epochOf(record.time)]
      eachValue(record, (name, value) => addValue(name, value, offset))
      if (time === undefined) isIndexable = false
      positions.push(Number(record.position))
      times.push(time ?? 0)
    },
    /**
     * Index rows of the full segment. A segment that cannot be indexed has only the row with the positions of its
     * events.
     */
    parts: async (): Promise<readonly RowText[]> => {
      const placesPart: RowText = [placesKey(number), placesText({ positions, times })]
      if (!isIndexable) return [placesPart]
      const [first, last] = [Math.min(...times), Math.max(...times)].map((ms) => new Date(ms).toISOString())
      const facetParts = FACETS.map(
        (name): RowText => [facetKey(name, number), JSON.stringify(storedSets(facets.get(name)!))],
      )
      return [placesPart, [timesKey(number), JSON.stringify({ first, last })], ...facetParts, ...(await hashParts())]
    },
  }
}

/**
 * Log projection that creates the index of events. A segment is written once it is full. The events of an incomplete
 * segment are kept in memory, and are read from the log after a restart.
 */
export const eventIndex = (key: Uint8Array): LogProjection & { readonly block: number } => {
  const { seal, textOf } = rowSeals(key)
  const hashOf = valueHash(key)
  let open = openSegment(0, hashOf)

  /** Position before a segment: that of the last event of the segment before it. */
  const positionBefore = async ({ find }: Sources, number: number): Promise<bigint | undefined> => {
    if (number === 0) return 0n
    const [row] = await find<IndexDoc>([placesKey(number - 1)])
    const text = row && textOf(row)
    return text === undefined ? undefined : BigInt(placesIn(text).positions.at(-1)!)
  }

  /** Reads the events of the incomplete segment up to a checkpoint. */
  const reopened = async (sources: Sources, { events, position }: Checkpoint) => {
    const number = Math.floor(events / SEGMENT)
    const segment = openSegment(number, hashOf)
    const before = await positionBefore(sources, number)
    let index = before === undefined ? 0 : number * SEGMENT
    if (index === events) return segment
    const pause = timeSlicer()
    for await (const page of sources.log.readAll(before ?? 0n, position))
      for (const record of page) {
        if (index++ >= number * SEGMENT) segment.add(record)
        const paused = pause()
        if (paused) await paused
      }
    return segment
  }

  return {
    ...indexView,
    block: SEGMENT,
    rowsOf: async (sources, from, page) => {
      if (open.next() !== from.events) open = await reopened(sources, from)
      const rows: Row[] = []
      const pause = timeSlicer()
      for (const record of page) {
        open.add(record)
        if (open.isFull()) {
          for (const [id, text] of await open.parts())
            rows.push({ key: id, revision: 0n, position: record.position, changes: 0n, doc: seal({ id, text }) })
          open = openSegment(open.next() / SEGMENT, hashOf)
        }
        const paused = pause()
        if (paused) await paused
      }
      return rows
    },
  }
}
