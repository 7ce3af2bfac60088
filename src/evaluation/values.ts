import { parseExactly } from '../base/exact-json.ts'

// The alternatives begin with different characters, so matching needs no backtracking (linear time).
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const hexadecimal = /^([+-]?)0[xX]([\da-fA-F]*)(?:\.([\da-fA-F]*))?[pP]([+-]?\d+)$/
const infinite = /^[+-]?inf(?:inity)?$/i
const nan = /^nan$/i

const integer = /^[+-]?\d+$/

/** A float64 above 2^53 − 1 as bigint, so that it compares exactly with integers; a smaller one unchanged. */
const exact = (value: number | bigint): number | bigint =>
  typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER && Number.isFinite(value)
    ? BigInt(value)
    : value

/**
 * Parses a number (api.md §8.4, number text; includes NaN); undefined if the text is invalid or the number too large.
 * The result is a float64, or, if its size is above 2^53 − 1, a bigint: an integer exactly, another number rounded to a
 * float64.
 */
export const parseNumber = (text: string): number | bigint | undefined => {
  const value = float64Of(text)
  if (value === undefined || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value
  return integer.test(text) ? BigInt(text) : exact(value)
}

const float64Of = (text: string): number | undefined => {
  if (decimal.test(text)) return finite(Number(text))
  if (infinite.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (nan.test(text)) return NaN
  const parts = hexadecimal.exec(text)
  return parts ? fromHexadecimal(parts[1] === '-' ? -1 : 1, parts[2]!, parts[3] ?? '', Number(parts[4])) : undefined
}

const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined)

/**
 * Number of significant hex digits: 64 bits, more than the 53 of a float64 and a rounding bit. The other digits count
 * only as zero or non-zero.
 */
const HEAD = 16
/** Limit of the exponent. Larger exponents give the same result, regardless of the number of digits. */
const FAR = 1e9

const fromHexadecimal = (sign: number, whole: string, fraction: string, power: number): number | undefined => {
  const digits = whole + fraction
  if (digits === '') return undefined
  const first = digits.search(/[^0]/)
  if (first === -1) return 0
  const rest = digits.slice(first + HEAD)
  const mantissa = (BigInt(`0x${digits.slice(first, first + HEAD)}`) << 1n) | (/[^0]/.test(rest) ? 1n : 0n)
  const exponent = Math.max(-FAR, Math.min(FAR, power)) + 4 * (rest.length - fraction.length) - 1

  const top = mantissa.toString(2).length - 1 + exponent
  if (top > 1023) return undefined
  if (top < -1075) return 0
  const unit = Math.max(top - 52, -1074)
  return finite(sign * Number(shift(mantissa, unit - exponent)) * 2 ** unit)
}

/** mantissa / 2^places, rounded to the nearest integer, ties to even. */
const shift = (mantissa: bigint, places: number): bigint => {
  if (places <= 0) return mantissa << BigInt(-places)
  const [cut, half] = [mantissa >> BigInt(places), 1n << BigInt(places - 1)]
  const rest = mantissa - (cut << BigInt(places))
  return rest > half || (rest === half && (cut & 1n) === 1n) ? cut + 1n : cut
}

const parse = (text: string): unknown => {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

const listOf =
  <T>(zero: T, holds: (item: unknown) => item is T) =>
  (text: string): readonly T[] | undefined => {
    const list = parse(text)
    if (list === null) return []
    if (!Array.isArray(list)) return undefined
    const items = (list as readonly unknown[]).map((item) => item ?? zero)
    return items.every(holds) ? items : undefined
  }

/** Parses a JSON list of texts (`null` item = `""`, JSON `null` = no items); undefined if invalid. */
export const parseTextList = listOf('', (item): item is string => typeof item === 'string')

const numbersOf = listOf<number | bigint>(
  0,
  (item): item is number | bigint => typeof item === 'bigint' || Number.isFinite(item),
)

/**
 * Parses a JSON list of numbers (`null` item = 0, JSON `null` = no items), in the form of `parseNumber`; undefined if
 * invalid or if a number is too large.
 */
export const parseNumberList = (text: string): readonly (number | bigint)[] | undefined => numbersOf(text)?.map(exact)

/** A point in time: whole seconds since 1970 UTC, rounded down, and nanoseconds (0–999999999). */
type Instant = { readonly seconds: number; readonly nanoseconds: number }

// This parser is ten times as fast as a regular expression. A non-digit becomes NaN, which fails every comparison.
const digit = (text: string, at: number): number => {
  const value = text.charCodeAt(at) - 48
  return value >= 0 && value <= 9 ? value : NaN
}
const two = (text: string, at: number): number => digit(text, at) * 10 + digit(text, at + 1)

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** Days before each month in a non-leap year. */
const before = lengths.map((_, month) => lengths.slice(0, month).reduce((sum, days) => sum + days, 0))
/** Days from 0000-01-01 to 1970-01-01. */
const EPOCH = 719_528

const lengthOf = (year: number, month: number): number => (month === 2 && isLeap(year) ? 29 : (lengths[month - 1] ?? 0))

const daysBefore = (year: number, month: number): number => {
  const leapYears = Math.ceil(year / 4) - Math.ceil(year / 100) + Math.ceil(year / 400)
  return year * 365 + leapYears + before[month - 1]! + (month > 2 && isLeap(year) ? 1 : 0) - EPOCH
}

/** Offset from UTC in seconds; NaN if the rest of the text is not a valid offset. */
const offsetAt = (text: string, at: number): number => {
  const sign = text[at]
  if (sign === 'Z') return text.length === at + 1 ? 0 : NaN
  if ((sign !== '+' && sign !== '-') || text[at + 3] !== ':' || text.length !== at + 6) return NaN
  const [hours, minutes] = [two(text, at + 1), two(text, at + 4)]
  return hours <= 24 && minutes <= 60 ? (sign === '-' ? -60 : 60) * (hours * 60 + minutes) : NaN
}

/**
 * Parses a datetime text (api.md §8.4). A date stands for midnight UTC. The result is undefined if the text is invalid.
 */
export const parseDatetime = (text: string): Instant | undefined => {
  const year = two(text, 0) * 100 + two(text, 2)
  const [month, day] = [two(text, 5), two(text, 8)]
  if (text[4] !== '-' || text[7] !== '-') return undefined
  if (!(year >= 0 && day >= 1 && day <= lengthOf(year, month))) return undefined
  const midnight = (daysBefore(year, month) + day - 1) * 86_400
  if (text.length === 10) return { seconds: midnight, nanoseconds: 0 }

  const colon = text[12] === ':' ? 12 : 13
  const hour = colon === 12 ? digit(text, 11) : two(text, 11)
  const [minute, second] = [two(text, colon + 1), two(text, colon + 4)]
  if (text[10] !== 'T' || text[colon] !== ':' || text[colon + 3] !== ':') return undefined
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return undefined

  let [end, nanoseconds] = [colon + 6, 0]
  if (text[end] === '.' || text[end] === ',') {
    const start = ++end
    while (digit(text, end) >= 0) end++
    if (end === start) return undefined
    nanoseconds = Number(text.slice(start, Math.min(end, start + 9)).padEnd(9, '0'))
  }
  const seconds = midnight + hour * 3600 + minute * 60 + second - offsetAt(text, end)
  return Number.isNaN(seconds) ? undefined : { seconds, nanoseconds }
}

/** Negative, zero or positive if `one` is before, equal to or after `other`. */
export const compareInstants = (one: Instant, other: Instant): number =>
  one.seconds - other.seconds || one.nanoseconds - other.nanoseconds

/**
 * Normalizes a datetime for storage: UTC with whole seconds; a date stays a date. The result is undefined if the
 * datetime is invalid, or if its year in UTC is outside 0000 to 9999, because it could not be read again.
 */
export const normalDatetime = (text: string): string | undefined => {
  const instant = parseDatetime(text)
  if (!instant || !text.includes('T')) return instant && text
  const date = new Date(instant.seconds * 1000)
  const year = date.getUTCFullYear()
  return year < 0 || year > 9999 ? undefined : `${date.toISOString().slice(0, 19)}Z`
}
