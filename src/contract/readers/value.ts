import type { TObject, TSchema } from 'typebox'
import { invalid, Refusal, refuse } from '../../base/errors.ts'
import { CLIENT_TOKEN } from '../../base/token-form.ts'

/** A JSON object before its fields are read. */
export type Raw = Readonly<Record<string, unknown>>

/** Refuses a field of the wrong JSON type with 400 `malformed_body`. */
export const malformed = (name: string, expected: string): never =>
  refuse('malformed_body', `request body is not valid: ${name} must be ${expected}`)

/** Returns the text. Refuses other types with 400 `malformed_body`. */
export const textOf = (value: unknown, name: string): string =>
  typeof value === 'string' ? value : malformed(name, 'text')

/** Returns the JSON object. Refuses other types with 400 `malformed_body`. */
export const objectOf = (value: unknown, name: string): Raw =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : malformed(name, 'an object')

/** Length of a text in Unicode code points. */
export const lengthOf = (text: string): number => Array.from(text).length

/** Returns true if a text has at most `max` code points. A code point takes one or two UTF-16 units. */
export const fits = (text: string, max: number): boolean =>
  text.length <= max || (text.length <= max * 2 && lengthOf(text) <= max)

/** Returns true if a text has at most `max` bytes in UTF-8. A UTF-16 unit takes at most three bytes. */
export const fitsBytes = (text: string, max: number): boolean =>
  text.length * 3 <= max || Buffer.byteLength(text) <= max

/** The text with the ASCII letters of its JSON escapes, because some texts hold JSON. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\u00([0-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))

/**
 * Refuses text that cannot be stored: unpaired surrogates, NUL, client tokens, and control characters if `control` is
 * false.
 */
export const storable = (text: string, name: string, control: boolean): void => {
  if (/\p{Surrogate}/u.test(text)) invalid(name, 'must not contain unpaired surrogates')
  if (!control && /\p{Cc}/u.test(text)) invalid(name, 'must not contain control characters')
  if (text.includes('\0')) invalid(name, 'must not contain NUL')
  if (CLIENT_TOKEN.test(text.includes('\\u00') ? unescaped(text) : text))
    invalid(name, 'must not contain a client token')
}

/** Sets a field, including one named `__proto__`. */
export const define = (object: Record<string, string>, key: string, value: string): void => {
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
  else object[key] = value
}

const numeral = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Parses a JSON number, or the same number as text. Refuses other text with `description`, other types with
 * `malformed_body`.
 */
export const numberOf = (value: unknown, name: string, description: string): number => {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return malformed(name, 'a number')
  return numeral.test(value) ? Number(value) : invalid(name, description)
}

const instant =
  /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d{1,3})\d*)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

/**
 * Converts an RFC 3339 timestamp to UTC text with milliseconds; further digits are truncated. The result is undefined
 * for other text, impossible days, and years outside 0000 to 9999.
 */
export const instantOf = (text: string): string | undefined => {
  const parts = instant.exec(text)
  if (!parts) return undefined
  const [, year, month, day, hour, minute, second, fraction = '', sign, hours = '0', minutes = '0'] = parts
  const local = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`
  const time = Date.parse(local)
  if (Number.isNaN(time) || new Date(time).toISOString() !== local) return undefined
  const offset = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1)
  const utc = new Date(time - offset).toISOString()
  return utc.length === 24 ? utc : undefined
}

/**
 * Keeps the first field error while the other fields are read. A wrong JSON type takes precedence and is thrown
 * immediately (api.md §1.3).
 */
export const settle = (error: unknown, held: Error | undefined): Error => {
  if (error instanceof Refusal && error.reason !== 'malformed_body') return held ?? error
  throw error
}

/**
 * One field of a request: its JSON Schema for the documentation, and its reader (api.md §1.1). A field that is
 * undefined or null counts as absent. `query` is the reader for query parameters, if it differs.
 */
export type Field<T> = {
  readonly schema: TSchema
  readonly optional?: boolean
  readonly read: (value: unknown, name: string) => T
  readonly query?: (text: string, name: string) => T
}

/** Input of a request: its JSON Schema, and the reader of the raw form. `under` is the name of the enclosing object. */
export type Input<T, From = Raw> = { readonly schema: TObject; readonly read: (raw: From, under?: string) => T }
