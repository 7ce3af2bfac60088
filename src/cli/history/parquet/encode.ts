import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import type { ExportedEvent, FileEncoder } from '../export/file-encoder.ts'
import { GROUP, PARQUET_COLUMNS, SCHEMA, textsOf } from './columns.ts'

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
