import { entryOf, type StoredRecord } from '../entry.ts'
import { leafOf } from '../hashes.ts'
import { parseSize } from '../note/checkpoint.ts'
import { type IndexedEvent, indexedEvent } from './event-fields.ts'
import { digitsIn, type ReadLine, type ReadLines, storedBytes, storedText } from './read-line.ts'

/** Maximum of an integer attribute, and digits of `sequence`. */
const [INTEGER_MAX, DIGITS] = [2_147_483_647, 19]

/**
 * JSON text of an event as a structured CloudEvent 1.0 of this ledger (api.md §16.15). The text depends on the record
 * of the event alone.
 */
export const cloudEvent = ({ index, record, fields }: IndexedEvent, ledger: string): string => {
  const { id, stream, type, time, revision } = record
  const { actor, meta } = fields
  const attributes = {
    specversion: '1.0',
    id,
    source: `urn:rollcall:ledger:${ledger}`,
    type: `rollcall.${type}`,
    subject: stream,
    time,
    datacontenttype: 'application/json',
    dataschema: `urn:rollcall:schema:${type}`,
    sequence: String(index).padStart(DIGITS, '0'),
    position: String(record.position),
    revision: revision > INTEGER_MAX ? undefined : Number(revision),
    partitionkey: stream,
    actorkind: actor.kind,
    actorid: actor.id,
    requestid: meta?.requestId,
    correlationid: meta?.correlationId,
    causationid: meta?.causationId,
    reason: meta?.reason,
    meta: record.meta,
  }
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${storedText(record.data)}}`
}

const DATA = '","data":'
const TYPE = 'rollcall.'

/** Attributes of a line, of which some may be missing or have another type. */
type Attributes = Readonly<Record<string, unknown>>

const attributesIn = (json: string): Attributes | undefined => {
  try {
    return JSON.parse(json) as Attributes
  } catch {
    return undefined
  }
}

const recordIn = (
  attributes: Attributes,
  data: string,
): { readonly index: number; readonly record: StoredRecord } | undefined => {
  const text = (name: string): string => {
    const value = attributes[name]
    return typeof value === 'string' ? value : ''
  }
  const index = parseSize(text('sequence').replace(/^0{1,18}/, ''))
  const [position, revision] = [digitsIn(text('position')), digitsIn(String(attributes['revision']))]
  if (index === undefined || position === undefined || revision === undefined) return undefined
  const type = text('type').startsWith(TYPE) ? text('type').slice(TYPE.length) : ''
  const [id, stream, time, meta] = [text('id'), text('subject'), text('time'), text('meta')]
  return { index, record: { id, stream, revision, position, type, time, data, meta } }
}

const readLine = (line: string, ledger: string): ReadLine | undefined => {
  // The quotes inside the strings before it are escaped.
  const at = line.indexOf(DATA)
  const attributes = at < 0 ? undefined : attributesIn(`${line.slice(0, at)}"}`)
  const data = attributes && storedBytes(Buffer.from(line.slice(at + DATA.length, -1)))
  const found = attributes && data && recordIn(attributes, data.toString())
  if (found === undefined) return undefined
  const { index, record } = found
  const isExact = cloudEvent(indexedEvent(index, record), ledger) === line
  return { index, leaf: leafOf(entryOf(record)), isExact, record: () => record }
}

/** Reads the lines of an export of CloudEvents of a ledger. Each line is made again from its record and compared. */
export const cloudEventReader =
  (ledger: string): ReadLines =>
  (bytes) => {
    const used = bytes.lastIndexOf(0x0a) + 1
    const lines = bytes.toString('utf8', 0, used).split('\n').slice(0, -1)
    return { lines: lines.map((line) => readLine(line, ledger)), used }
  }
