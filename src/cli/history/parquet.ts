import { type FileHandle, open } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead, type SchemaElement } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { validText } from '../../history/event-json.ts'
import { COLUMN_PLACES, COLUMNS } from '../../verifier/export/csv.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import { chunksOf, type FileLines, type Measured } from '../../verifier/export/read-file.ts'
import { lineOfColumns, type ReadLine, storedBytes } from '../../verifier/export/read-line.ts'
import type { ExportedEvent, FileEncoder } from './export/sources.ts'

/** Limits of a row group: rows, and bytes of `data` and `meta`, whichever is first. */
const GROUP = { rows: 10_000, bytes: 16_777_216 } as const

type Cell = bigint | number | string | Buffer | undefined

type ColumnType = {
  readonly element: Omit<SchemaElement, 'name'>
  /** Value of a text of the table of events. */
  readonly cell: (text: string) => Cell
  /** Text of a value that was read; undefined for a value of another type. */
  readonly text: (cell: unknown) => string | undefined
}

const required = { repetition_type: 'REQUIRED' } as const
const integer = (cell: unknown): string | undefined =>
  typeof cell === 'bigint' || typeof cell === 'number' ? String(cell) : undefined
const string = (cell: unknown): string | undefined => (typeof cell === 'string' ? cell : undefined)

const long: ColumnType = { element: { ...required, type: 'INT64' }, cell: BigInt, text: integer }
const int: ColumnType = { element: { ...required, type: 'INT32' }, cell: Number, text: integer }
const moment: ColumnType = {
  element: {
    ...required,
    type: 'INT64',
    converted_type: 'TIMESTAMP_MILLIS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' },
  },
  cell: (text) => BigInt(Date.parse(text)),
  text: (cell) => (cell instanceof Date && !Number.isNaN(cell.getTime()) ? cell.toISOString() : undefined),
}
const text: ColumnType = {
  element: { ...required, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  cell: (value) => value,
  text: string,
}
const optionalText: ColumnType = {
  element: { ...text.element, repetition_type: 'OPTIONAL' },
  cell: (value) => (value === '' ? undefined : value),
  text: (cell) => (cell === undefined || cell === null ? '' : string(cell)),
}
/** The bytes of the stored text. The writer would encode a string as JSON once more. */
const json: ColumnType = {
  element: { ...required, type: 'BYTE_ARRAY', converted_type: 'JSON', logical_type: { type: 'JSON' } },
  cell: (value) => Buffer.from(value),
  text: string,
}

const TYPES: Readonly<Record<string, ColumnType>> = {
  index: long,
  position: long,
  time: moment,
  type: text,
  version: int,
  category: text,
  stream: text,
  revision: long,
  id: text,
  outcome: text,
  command: text,
  actor_kind: text,
  instance: text,
  data: json,
  meta: json,
}

/** Columns whose values hardly repeat. */
const UNIQUE: ReadonlySet<string> = new Set(['id', 'request_id', 'correlation_id', 'data', 'meta'])

/** Columns of a Parquet file of events: those of CSV in the same order (api.md §16.16). */
const PARQUET_COLUMNS = COLUMNS.map(([name, of]) => ({
  name,
  of,
  isUnique: UNIQUE.has(name),
  ...(TYPES[name] ?? optionalText),
}))

const ROOT: SchemaElement = { name: 'root', num_children: PARQUET_COLUMNS.length }
const SCHEMA: readonly SchemaElement[] = [ROOT, ...PARQUET_COLUMNS.map(({ name, element }) => ({ name, ...element }))]

/** Texts of an event in the order of the columns. A stored text that is no JSON object becomes a JSON string. */
const textsOf = (event: IndexedEvent): readonly string[] =>
  PARQUET_COLUMNS.map((column) =>
    isStored(column) ? validText(column.of(event), event.fields[column.name]) : column.of(event),
  )

/** Stored texts of an event, by whose bytes groups and files are split. */
export const storedTexts = ({ record: { data, meta } }: IndexedEvent): string => data + meta

const isStored = <T extends { readonly name: string }>(column: T): column is T & { readonly name: 'data' | 'meta' } =>
  TYPES[column.name] === json

/** Maximum bytes of the description at the end of a file, and of a group of rows after decompression. */
const [FOOTER, ROWS] = [67_108_864, 268_435_456]
/** Bytes after the description: its length and the magic number. */
const TAIL = 8

const bytesOf = async (file: FileHandle, start: number, end: number): Promise<ArrayBuffer> => {
  const bytes = new Uint8Array(new ArrayBuffer(Math.max(0, end - start)))
  for (let at = 0; at < bytes.length; ) {
    const { bytesRead } = await file.read(bytes, at, bytes.length - at, start + at)
    if (bytesRead === 0) throw new RangeError('a place beyond the end of the file')
    at += bytesRead
  }
  return bytes.buffer
}

const bufferOf = async (file: FileHandle): Promise<AsyncBuffer> => {
  const { size } = await file.stat()
  return {
    byteLength: size,
    slice: (start, end = size) => {
      const [from, to] = [start < 0 ? size + start : start, end < 0 ? size + end : end]
      return bytesOf(file, Math.max(0, from), Math.min(size, to))
    },
  }
}

/** Description of a file with exactly the columns of an export, and groups within their limits. */
const metadataOf = async (buffer: AsyncBuffer): Promise<FileMetaData> => {
  const length = new DataView(await buffer.slice(buffer.byteLength - TAIL)).getUint32(0, true)
  if (length > FOOTER) throw new RangeError('a description that is too long')
  const metadata = await parquetMetadataAsync(buffer, { geoparquet: false })
  const shown = metadata.schema.map((element) =>
    Object.fromEntries(Object.entries(element).filter(([, v]) => v !== undefined)),
  )
  if (!isDeepStrictEqual(shown, SCHEMA)) throw new TypeError('other columns')
  for (const { num_rows, total_byte_size } of metadata.row_groups)
    if (num_rows > GROUP.rows || total_byte_size > ROWS) throw new RangeError('a group that is too large')
  return metadata
}

const texts = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
const decoded = (bytes: Uint8Array | undefined) => bytes && texts.decode(bytes)
const parsers = { jsonFromBytes: decoded, stringFromBytes: decoded }

/** Reads a row. The row is made again from its record and compared. */
const lineOf = (cells: readonly unknown[]): { readonly line: ReadLine; readonly bytes: number } | undefined => {
  const given = PARQUET_COLUMNS.map(({ text }, n) => text(cells[n]))
  let bytes = 0
  const line = lineOfColumns(
    (title) => {
      const at = COLUMN_PLACES.get(title)!
      const text = given[at]
      return text !== undefined && isStored(PARQUET_COLUMNS[at]!) ? storedBytes(Buffer.from(text))?.toString() : text
    },
    (event) => {
      bytes = Buffer.byteLength(storedTexts(event))
      return textsOf(event).every((each, n) => each === given[n])
    },
  )
  return line && { line, bytes }
}

async function* linesIn(file: FileHandle): AsyncGenerator<FileLines<ReadLine>> {
  const buffer = await bufferOf(file)
  const metadata = await metadataOf(buffer)
  let [rowStart, used] = [0, 0]
  for (const { num_rows } of metadata.row_groups) {
    const rowEnd = rowStart + Number(num_rows)
    let rows: readonly (readonly unknown[])[] = []
    await parquetRead({ file: buffer, metadata, rowStart, rowEnd, parsers, onComplete: (read) => (rows = read) })
    const lines = rows.map(lineOf)
    used += lines.reduce((sum, found) => sum + (found?.bytes ?? 0), 0)
    yield { lines: lines.map((found) => found?.line), used }
    rowStart = rowEnd
  }
}

/**
 * Reads the events of a Parquet export, one group of rows at a time. A file that cannot be read ends with a malformed
 * line. `used`: bytes of the stored texts of all rows so far.
 */
export async function* parquetLines(path: string, measured: Measured): AsyncGenerator<FileLines<ReadLine>> {
  for await (const chunk of chunksOf(path, measured)) void chunk
  const file = await open(path, 'r')
  let used = 0
  try {
    for await (const found of linesIn(file)) {
      used = found.used
      yield found
    }
  } catch (error) {
    // The reader of Parquet throws errors of any kind for damaged bytes; those of the system name a call.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error
    yield { lines: [undefined], used }
  } finally {
    await file.close()
  }
}

/** The writer encodes values of a column with the converted type JSON once more, so it learns that type at the end. */
const WRITTEN = SCHEMA.map(({ converted_type, ...rest }) =>
  converted_type === undefined || converted_type === 'JSON' ? rest : { ...rest, converted_type },
)

/** Encodes the events of one Parquet file in groups of rows. Equal events give equal bytes. */
export const parquetEncoder = (): FileEncoder => {
  const writer = new ByteWriter()
  const parquet = new ParquetWriter({
    writer,
    schema: WRITTEN,
    kvMetadata: [{ key: 'rollcall.schema', value: 'rollcall.events/v1' }],
    createdBy: 'rollcall',
  })
  let group = PARQUET_COLUMNS.map((): unknown[] => [])
  let bytes = 0

  /** Bytes that were encoded since the last call. */
  const taken = (): Buffer => {
    const encoded = Buffer.from(writer.getBytes())
    writer.index = 0
    return encoded
  }
  const writeGroup = (): void => {
    const rows = group[0]!.length
    if (rows === 0) return
    const columnData = PARQUET_COLUMNS.map(({ name, element, isUnique }, n) => ({
      name,
      data: group[n]!,
      // Readers skip groups by index and time. Bounds of texts take a quarter of the time of an export.
      statistics: element.type !== 'BYTE_ARRAY',
      // A search for repeated values would find none.
      ...(isUnique && { encoding: 'PLAIN' as const }),
    }))
    // The writer waits only for an asynchronous flush, and this one has none.
    void parquet.write({ columnData, rowGroupSize: rows })
    group = PARQUET_COLUMNS.map(() => [])
    bytes = 0
  }
  return {
    head: () => taken(),
    add: ({ event }: ExportedEvent, text) => {
      bytes += Buffer.byteLength(text)
      for (const [n, cell] of textsOf(event()).entries()) group[n]!.push(PARQUET_COLUMNS[n]!.cell(cell))
      if (group[0]!.length < GROUP.rows && bytes < GROUP.bytes) return ''
      writeGroup()
      return taken()
    },
    end: () => {
      writeGroup()
      parquet.schema = [...SCHEMA]
      void parquet.finish()
      return taken()
    },
  }
}
