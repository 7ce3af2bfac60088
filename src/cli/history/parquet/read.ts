import { type FileHandle, open } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { type AsyncBuffer, type FileMetaData, parquetMetadataAsync, parquetRead } from 'hyparquet'
import { entryOf } from '../../../verifier/entry.ts'
import { COLUMN_PLACES } from '../../../verifier/export/csv.ts'
import { indexedEvent } from '../../../verifier/export/facts.ts'
import { chunksOf, type FileLines, type Measured } from '../../../verifier/export/read-file.ts'
import { type ReadLine, recordOfColumns, storedBytes } from '../../../verifier/export/read-line.ts'
import { leafOf } from '../../../verifier/hashes.ts'
import { GROUP, isStored, PARQUET_COLUMNS, SCHEMA, storedTexts, textsOf } from './columns.ts'

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
const parsers = {
  jsonFromBytes: (bytes: Uint8Array | undefined) => bytes && texts.decode(bytes),
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && texts.decode(bytes),
}

const storedIn = (shown: string): string | undefined => storedBytes(Buffer.from(shown))?.toString()

/** Reads a row. The row is made again from its record and compared. */
const lineOf = (cells: readonly unknown[]): { readonly line: ReadLine; readonly bytes: number } | undefined => {
  const given = PARQUET_COLUMNS.map(({ text }, n) => text(cells[n]))
  const found = recordOfColumns((title) => {
    const at = COLUMN_PLACES.get(title)!
    const text = given[at]
    return text !== undefined && isStored(PARQUET_COLUMNS[at]!) ? storedIn(text) : text
  })
  if (found === undefined) return undefined
  const { index, record } = found
  const event = indexedEvent(index, record)
  const made = textsOf(event)
  const isExact = made.every((each, n) => each === given[n])
  const line = { index, leaf: leafOf(entryOf(record)), isExact, record: () => record }
  return { line, bytes: Buffer.byteLength(storedTexts(event)) }
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
