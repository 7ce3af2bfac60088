import { jsonFlaw } from '../../parts/fields/json-flaw.ts'
import { flag } from '../../words/flag.ts'

const words = flag.about

/** Member of a flag's metadata, as typed. */
export type MetadataRow = {
  readonly key: string
  readonly type: 'text' | 'number' | 'boolean' | 'json'
  readonly value: string
}

const rowOf = ([key, value]: [string, unknown]): MetadataRow => {
  if (typeof value === 'string') return { key, type: 'text', value }
  if (typeof value === 'number') return { key, type: 'number', value: String(value) }
  if (typeof value === 'boolean') return { key, type: 'boolean', value: String(value) }
  return { key, type: 'json', value: JSON.stringify(value) }
}

export const rowsOf = (metadata: Readonly<Record<string, unknown>>): readonly MetadataRow[] =>
  Object.entries(metadata).map(rowOf)

/** Validation error of a row; undefined if it is valid. */
export const rowFlaw = (
  { key, type, value }: MetadataRow,
  others: readonly MetadataRow[],
): { readonly field: 'key' | 'value'; readonly words: string } | undefined => {
  if (key === '') return { field: 'key', words: words.keyMissing }
  if (others.some((other) => other.key === key)) return { field: 'key', words: words.keyTwice }
  const number = Number(value)
  if (type === 'number' && (value.trim() === '' || !Number.isFinite(number)))
    return { field: 'value', words: words.number }
  if (type === 'boolean' && value !== 'true' && value !== 'false') return { field: 'value', words: words.boolean }
  const flaw = type === 'json' ? jsonFlaw(value) : undefined
  return flaw === undefined ? undefined : { field: 'value', words: flaw }
}

/** Parses a JSON text; returns an invalid text unchanged. */
const parsed = (text: string): unknown => (jsonFlaw(text) === undefined ? JSON.parse(text) : text)

const valueOf = ({ type, value }: MetadataRow): unknown => {
  if (type === 'text') return value
  if (type === 'number') return Number(value)
  return type === 'boolean' ? value === 'true' : parsed(value)
}

/** Converts valid rows to metadata. */
export const metadataOf = (rows: readonly MetadataRow[]): Record<string, unknown> =>
  Object.fromEntries(rows.map((row) => [row.key, valueOf(row)]))
