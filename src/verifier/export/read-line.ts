import { entryOf, type StoredRecord } from '../entry.ts'
import { type Hash, leafOf } from '../hashes.ts'
import { parseSize } from '../note/checkpoint.ts'
import { type IndexedEvent, indexedEvent } from './event-fields.ts'

/** An event as an export shows it: its index, the leaf of its record, and the record. */
export type ReadLine = {
  readonly index: number
  readonly leaf: Hash
  /** True if the rest of the line is what follows from the record. */
  readonly isExact: boolean
  readonly record: () => StoredRecord
}

/** A line of an export whose lines do not hold the stored texts. */
export type PlacedLine = Pick<ReadLine, 'index' | 'isExact'>

/**
 * Reads the whole lines at the beginning of the bytes, undefined for a malformed one. `used`: number of bytes read;
 * what remains is the beginning of a line.
 */
export type ReadLinesOf<L> = (bytes: Buffer) => { readonly lines: readonly (L | undefined)[]; readonly used: number }
export type ReadLines = ReadLinesOf<ReadLine>

/** Returns a revision or position in decimal digits without leading zeros; undefined for another text. */
export const digitsIn = (text: string): bigint | undefined =>
  /^(?:0|[1-9]\d{0,19})$/.test(text) ? BigInt(text) : undefined

/**
 * Returns the end of the JSON value that begins at a place of a text; undefined if it has none. Only brackets and
 * strings are followed: the hash of the value proves the rest.
 */
export const endOfJson = (text: string, at: number): number | undefined => {
  let depth = 0
  for (let n = at; n < text.length; n++) {
    const unit = text.charCodeAt(n)
    if (unit === 0x22) {
      do {
        n = text.indexOf('"', n + 1)
        if (n < 0) return undefined
      } while (isEscaped(text, n))
    } else if (unit === 0x7b || unit === 0x5b) depth++
    else if (unit === 0x7d || unit === 0x5d) depth--
    if (depth <= 0) return n + 1
  }
  return undefined
}

const isEscaped = (text: string, quote: number): boolean => {
  let n = quote
  while (text.charCodeAt(n - 1) === 0x5c) n--
  return (quote - n) % 2 === 1
}

/**
 * Stored text of an event as JSON: the text itself. A text that is not one line in braces, which no version writes,
 * becomes a JSON string, so that the line of the event stays whole.
 */
export const storedText = (text: string): string =>
  text.startsWith('{') && text.endsWith('}') && !text.includes('\n') ? text : JSON.stringify(text)

/** Last member of an event with opened personal data; without them, an empty text. */
export const personalMember = (opened: object | undefined): string =>
  opened ? `,"personal":${JSON.stringify(opened)}` : ''

/**
 * Returns the stored text that a JSON value of a line shows, in UTF-8: an object is the text itself, a JSON string has
 * it as value. Returns undefined for other values.
 */
export const storedBytes = (shown: Buffer): Buffer | undefined => {
  if (shown[0] === 0x7b) return shown
  if (shown[0] !== 0x22) return undefined
  try {
    const value: unknown = JSON.parse(shown.toString())
    return typeof value === 'string' && JSON.stringify(value) === shown.toString() ? Buffer.from(value) : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns the line of an event by the texts of the columns of the table of events; undefined if one is malformed.
 * `isExact` makes the line again from its event and compares it.
 */
export const lineOfColumns = (
  text: (title: string) => string | undefined,
  isExact: (event: IndexedEvent) => boolean,
): ReadLine | undefined => {
  const index = parseSize(text('index') ?? '')
  const [position, revision] = [digitsIn(text('position') ?? ''), digitsIn(text('revision') ?? '')]
  const [id, stream, time, data, meta] = [text('id'), text('stream'), text('time'), text('data'), text('meta')]
  if (index === undefined || position === undefined || revision === undefined) return undefined
  if (id === undefined || stream === undefined || time === undefined) return undefined
  if (data === undefined || meta === undefined) return undefined
  const type = text('version') === '1' ? text('type')! : `${text('type')}.v${text('version')}`
  const record = { id, stream, revision, position, type, time, data, meta }
  return {
    index,
    leaf: leafOf(entryOf(record)),
    isExact: isExact(indexedEvent(index, record)),
    record: () => record,
  }
}
