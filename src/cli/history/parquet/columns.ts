import type { SchemaElement } from 'hyparquet'
import { validText } from '../../../history/forms.ts'
import { COLUMNS } from '../../../verifier/export/csv.ts'
import type { IndexedEvent } from '../../../verifier/export/facts.ts'

/** Limits of a row group: rows, and bytes of `data` and `meta`, whichever is first. */
export const GROUP = { rows: 10_000, bytes: 16_777_216 } as const

type Cell = bigint | number | string | Buffer | undefined

type ColumnType = {
  /** How the column is described in the file. */
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
export const PARQUET_COLUMNS = COLUMNS.map(([name, of]) => ({
  name,
  of,
  isUnique: UNIQUE.has(name),
  ...(TYPES[name] ?? optionalText),
}))

const ROOT: SchemaElement = { name: 'root', num_children: PARQUET_COLUMNS.length }
/** Schema of a file. */
export const SCHEMA: readonly SchemaElement[] = [
  ROOT,
  ...PARQUET_COLUMNS.map(({ name, element }) => ({ name, ...element })),
]

/** Texts of an event in the order of the columns. A stored text that is no JSON object becomes a JSON string. */
export const textsOf = (event: IndexedEvent): readonly string[] =>
  PARQUET_COLUMNS.map((column) =>
    isStored(column) ? validText(column.of(event), event.facts[column.name]) : column.of(event),
  )

/** Stored texts of an event, by whose bytes groups and files are split. */
export const storedTexts = ({ record: { data, meta } }: IndexedEvent): string => data + meta

/** True for a column of stored JSON texts. */
export const isStored = <T extends { readonly name: string }>(
  column: T,
): column is T & { readonly name: 'data' | 'meta' } => TYPES[column.name] === json
