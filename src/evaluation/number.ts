// The alternatives begin with different characters, so matching needs no backtracking (linear time).
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const hexadecimal = /^([+-]?)0[xX]([\da-fA-F]*)(?:\.([\da-fA-F]*))?[pP]([+-]?\d+)$/
const infinite = /^[+-]?inf(?:inity)?$/i
const nan = /^nan$/i

const integer = /^[+-]?\d+$/

/** A float64 above 2^53 − 1 as bigint, so that it compares exactly with integers; a smaller one unchanged. */
export const exact = (value: number | bigint): number | bigint =>
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
