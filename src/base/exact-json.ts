import { randomUUID } from 'node:crypto'
import { invalid } from './errors.ts'

/** Code unit of the quotation mark of JSON strings. */
export const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Index of the closing quote of a JSON string; the length of the text if it is missing. */
export const closingQuote = (text: string, opening: number): number => {
  for (let at = opening + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === BACKSLASH) at++
    else if (unit === QUOTE) return at
  }
  return text.length
}

/**
 * Matches every JSON text with an integer above 2^53: at least 16 digits, among which a decimal point may stand. Written
 * out, because the engine then skips most characters.
 */
export const LONG_NUMBER = new RegExp('[0-9.]'.repeat(16))
const TOKEN = /"|-?\d[\d.]*(?:[eE][+-]?\d+)?/g
const INTEGER = /^-?\d+$/
const NUMERAL = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Prefix of an integer in a JSON text; random, so that no other text begins with it. */
const MARK = `${randomUUID()}:`

/**
 * Integer that a JSON number denotes, if its digits exceed 2^53 and a float64 would change or rewrite them; else
 * undefined.
 */
const integerOf = (numeral: string): bigint | undefined => {
  const near = Number(numeral)
  if (!Number.isFinite(near) || Math.abs(near) <= Number.MAX_SAFE_INTEGER) return undefined
  if (INTEGER.test(numeral)) return BigInt(numeral)
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = NUMERAL.exec(numeral) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  const shift = Number(exponent) - fraction.length
  if (shift < 0 && /[^0]/.test(digits.slice(shift))) return undefined
  const exact = BigInt(sign + (shift < 0 ? digits.slice(0, shift) : digits + '0'.repeat(shift)))
  return exact === BigInt(near) ? undefined : exact
}

/** The JSON text with its large integers as marked strings; undefined if it has none. Refuses more than `most`. */
const markedIn = (text: string, most: number): string | undefined => {
  const parts: string[] = []
  let from = 0
  TOKEN.lastIndex = 0
  for (let token = TOKEN.exec(text); token; token = TOKEN.exec(text)) {
    const [numeral] = token
    if (numeral === '"') {
      TOKEN.lastIndex = closingQuote(text, token.index) + 1
      continue
    }
    const integer = numeral.length < 16 ? undefined : integerOf(numeral)
    if (integer === undefined) continue
    parts.push(text.slice(from, token.index), `"${MARK}${integer}"`)
    from = TOKEN.lastIndex
    if (parts.length > 2 * most) invalid('body', `must have at most ${most} integers beyond 2^53`)
  }
  return from === 0 ? undefined : parts.join('') + text.slice(from)
}

/**
 * Parses a JSON text. An integer above 2^53 − 1, which a float64 would round, becomes a bigint with the digits of the
 * text. Throws the errors of JSON.parse; refuses more than `most` such integers.
 */
export const parseExactly = (text: string, most = Infinity): unknown => {
  const marked = LONG_NUMBER.test(text) ? markedIn(text, most) : undefined
  const value: unknown = JSON.parse(text)
  if (marked === undefined) return value
  return JSON.parse(marked, (_, member: unknown) =>
    typeof member === 'string' && member.startsWith(MARK) ? BigInt(member.slice(MARK.length)) : member,
  )
}

const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, 'g')

/** Compact JSON text of a value of `parseExactly`, with the digits of its integers. */
export const exactText = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? `${MARK}${member}` : member)).replace(
    MARKED,
    '$1',
  )
