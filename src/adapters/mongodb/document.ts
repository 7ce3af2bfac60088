/**
 * Encoding of client-chosen keys of metadata, attributes and attachments, because some have a special meaning. Dots and
 * dollars are paths and operators; the driver treats `_bsontype` and `toBSON` as its own types; some servers reject the
 * empty key. Keys with these characters are percent-encoded, so nothing is lost and any tool can address them.
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

/** JSON value as stored in the database: keys with `%`, `.`, `$` or NUL are percent-encoded. */
export const toDocument = (value: object): object => mapped(value, encodeKey) as object

/** Restores the JSON value. */
export const fromDocument = (stored: object): object => mapped(stored, decodeKey) as object
