import type { IndexedEvent } from './event-fields.ts'
import { membersIn } from './member-tests.ts'
import { lineOfColumns, type ReadLine, type ReadLines, storedBytes, storedText } from './read-line.ts'

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

const readLine = (line: string, ledger: string): ReadLine | undefined => {
  // The quotes inside the strings before it are escaped.
  const at = line.indexOf(DATA)
  const attributes = membersIn(`${line.slice(0, Math.max(0, at))}"}`)
  const data = attributes && storedBytes(Buffer.from(line.slice(at + DATA.length, -1)))?.toString()
  if (data === undefined) return undefined
  const text = (name: string): string => {
    const value = attributes?.[name]
    return typeof value === 'string' ? value : ''
  }
  const columns: Readonly<Record<string, string>> = {
    index: text('sequence').replace(/^0{1,18}/, ''),
    position: text('position'),
    revision: String(attributes?.['revision']),
    version: '1',
    type: text('type').startsWith(TYPE) ? text('type').slice(TYPE.length) : '',
    id: text('id'),
    stream: text('subject'),
    time: text('time'),
    data,
    meta: text('meta'),
  }
  return lineOfColumns(
    (title) => columns[title],
    (event) => cloudEvent(event, ledger) === line,
  )
}

/** Reads the lines of an export of CloudEvents of a ledger. Each line is made again from its record and compared. */
export const cloudEventReader =
  (ledger: string): ReadLines =>
  (bytes) => {
    const used = bytes.lastIndexOf(0x0a) + 1
    const lines = bytes.toString('utf8', 0, used).split('\n').slice(0, -1)
    return { lines: lines.map((line) => readLine(line, ledger)), used }
  }
