import { backgroundSlicer, sliced } from '../../base/event-loop.ts'
import type { Stored } from '../../events/log.ts'
import type { LogProjection, Sources } from '../../projections/history/log-marks.ts'
import type { Checkpoint, Row } from '../../projections/views.ts'
import { eachValue, LISTED, type Listed } from '../../verifier/export/filter.ts'
import { SEGMENT, storedSet } from './bitmap.ts'
import {
  FACETS,
  FIRST,
  hashedText,
  type IndexDoc,
  indexView,
  isFacet,
  positionsIn,
  positionsText,
  rowKey,
  rowSeals,
  timesText,
  valueHash,
} from './rows.ts'

/** Maximum length of an indexed value. No version of the service writes a longer value. */
const LONGEST = 512

/** Offsets of the events with a value. Most values belong to one event, so a single offset has no list. */
type Offsets = Map<string, number | number[]>

/** Adds the offset of an event once; offsets arrive in ascending order. */
const addOffset = (offsets: Offsets, value: string, offset: number): void => {
  const found = offsets.get(value)
  if (found === undefined) offsets.set(value, offset)
  else if (typeof found !== 'number') {
    if (found.at(-1) !== offset) found.push(offset)
  } else if (found !== offset) offsets.set(value, [found, offset])
}

const INSTANT = /^\d{4}-\d{2}-(\d{2})T(?!24)\d{2}:\d{2}:\d{2}\.\d{3}Z$/

/** Time in epoch ms; undefined if it is not an RFC 3339 UTC text with milliseconds. */
const epochOf = (time: string): number | undefined => {
  const day = INSTANT.exec(time)?.[1]
  const ms = day === undefined ? Number.NaN : Date.parse(time)
  // `Date.parse` takes February 30 for March 2.
  return Number.isNaN(ms) || (day! > '28' && new Date(ms).toISOString() !== time) ? undefined : ms
}

/** Text of one row of a segment. */
type RowText = readonly [key: string, text: string]

/** Collects the events of one segment. */
const openSegment = (number: number, hashOf: ReturnType<typeof valueHash>) => {
  const byName = new Map<Listed, Offsets>(LISTED.map((name) => [name, new Map()]))
  const [positions, times]: [number[], number[]] = [[], []]
  let isIndexable = true

  const addValue = (name: Listed, value: string, offset: number) => {
    if (value.length > LONGEST) isIndexable = false
    else addOffset(byName.get(name)!, value, offset)
  }

  const hashParts = async (): Promise<readonly RowText[]> => {
    const texts = new Map(FIRST.map((first) => [first, '']))
    for (const [name, values] of byName)
      for await (const part of sliced(isFacet(name) ? [] : [values], backgroundSlicer()))
        for (const [value, offsets] of part) {
          const hash = hashOf(name, value)
          texts.set(hash[0]!, texts.get(hash[0]!)! + hashedText(hash, storedSet(offsets)))
        }
    return Array.from(texts, ([first, text]) => [rowKey(first, number), `${text};`] as const)
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
      const positionsPart: RowText = [rowKey('positions', number), positionsText(positions)]
      if (!isIndexable) return [positionsPart]
      const [first, last] = [Math.min(...times), Math.max(...times)].map((ms) => new Date(ms).toISOString())
      const facetParts = FACETS.map((name): RowText => {
        const sets = Array.from(byName.get(name)!, ([value, found]) => [value, storedSet(found)])
        return [rowKey(name, number), JSON.stringify(Object.fromEntries(sets))]
      })
      return [
        positionsPart,
        [rowKey('times', number), timesText(times)],
        [rowKey('timeRange', number), JSON.stringify({ first, last })],
        ...facetParts,
        ...(await hashParts()),
      ]
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
    const [row] = await find<IndexDoc>([rowKey('positions', number - 1)])
    const text = row && textOf(row)
    return text === undefined ? undefined : BigInt(positionsIn(text).at(-1)!)
  }

  /** Reads the events of the incomplete segment up to a checkpoint. */
  const reopened = async (sources: Sources, { events, position }: Checkpoint) => {
    const number = Math.floor(events / SEGMENT)
    const segment = openSegment(number, hashOf)
    const before = await positionBefore(sources, number)
    let index = before === undefined ? 0 : number * SEGMENT
    if (index === events) return segment
    for await (const part of sliced(sources.log.readAll(before ?? 0n, position), backgroundSlicer()))
      for (const record of part) if (index++ >= number * SEGMENT) segment.add(record)
    return segment
  }

  return {
    ...indexView,
    block: SEGMENT,
    rowsOf: async (sources, from, page) => {
      if (open.next() !== from.events) open = await reopened(sources, from)
      const rows: Row[] = []
      for await (const part of sliced([page], backgroundSlicer()))
        for (const record of part) {
          open.add(record)
          if (!open.isFull()) continue
          for (const [id, text] of await open.parts())
            rows.push({ key: id, revision: 0n, position: record.position, changes: 0n, doc: seal({ id, text }) })
          open = openSegment(open.next() / SEGMENT, hashOf)
        }
      return rows
    },
  }
}
