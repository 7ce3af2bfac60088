/**
 * Clients choose the keys of metadata, attributes and attachments, and some mean something to a document database. Dots
 * and dollars are paths and operators; `_bsontype` and `toBSON` make the driver see one of its own types; some servers
 * refuse the empty key. They are percent-encoded: nothing is lost, and a path in any tool still leads there.
 */
const special = /[%.$\0]|^_(?=bsontype$)|^t(?=oBSON$)/g
const EMPTY = '%'

const encodeKey = (key: string): string =>
  key === ''
    ? EMPTY
    : key.replace(special, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`)

const decodeKey = (key: string): string =>
  key === EMPTY
    ? ''
    : key.includes('%')
      ? key.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
      : key

const mapped = (value: unknown, keyOf: (key: string) => string): unknown => {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map((item) => mapped(item, keyOf))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).flatMap(([key, item]) =>
    item === undefined ? [] : [[keyOf(key), mapped(item, keyOf)] as const],
  )
  return Object.fromEntries(entries)
}

/** A JSON value as it stands in the database: the same but for keys with `%`, `.`, `$` or NUL, which are percent-encoded. */
export const toDocument = (value: object): object => mapped(value, encodeKey) as object

/** The JSON value again. */
export const fromDocument = (stored: object): object => mapped(stored, decodeKey) as object
