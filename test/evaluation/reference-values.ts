// Reference implementation of the texts of api.md §8.4 and the checksum of §8.5: simple and slow.
// It shares no code with the engine.

const isDigit = (char: string | undefined): boolean => char !== undefined && '0123456789'.includes(char) && char !== ''
const hexDigits = '0123456789abcdef'

/**
 * The float64 nearest to sign × numerator / denominator, ties to even, assembled from its bits; undefined if too large.
 */
const nearest = (negative: boolean, numerator: bigint, denominator: bigint): number | undefined => {
  if (numerator === 0n) return 0
  let exponent = -1074
  // The smallest exponent whose unit gives fewer than 2^53 of them.
  const length = numerator.toString(2).length - denominator.toString(2).length
  exponent = Math.max(exponent, length - 54)
  const divide = (): { whole: bigint; rest: bigint; by: bigint } => {
    const [n, d] =
      exponent < 0 ? [numerator << BigInt(-exponent), denominator] : [numerator, denominator << BigInt(exponent)]
    return { whole: n / d, rest: n % d, by: d }
  }
  let { whole, rest, by } = divide()
  while (whole >= 1n << 53n) {
    exponent++
    ;({ whole, rest, by } = divide())
  }
  if (rest * 2n > by || (rest * 2n === by && whole % 2n === 1n)) whole++
  if (whole === 1n << 53n) {
    whole >>= 1n
    exponent++
  }
  if (exponent > 971) return undefined
  const normal = whole >= 1n << 52n
  const bits =
    (normal ? (BigInt(exponent + 1075) << 52n) | (whole & ((1n << 52n) - 1n)) : whole) | (negative ? 1n << 63n : 0n)
  const view = new DataView(new ArrayBuffer(8))
  view.setBigUint64(0, bits)
  return view.getFloat64(0)
}

/** Number text of api.md §8.4: integers above 2^53 exactly, other numbers as float64. */
export const referenceNumber = (text: string): number | bigint | undefined => {
  const number = referenceFloat(text)
  if (number === undefined || !Number.isFinite(number) || Math.abs(number) < 2 ** 53) return number
  const [first = '', ...rest] = Array.from(text)
  const digits = first === '+' || first === '-' ? rest : [first, ...rest]
  if (!digits.every(isDigit)) return BigInt(number)
  const size = digits.reduce((sum, digit) => sum * 10n + BigInt(digit), 0n)
  return first === '-' ? -size : size
}

const referenceFloat = (text: string): number | undefined => {
  if (['nan'].includes(text.toLowerCase()) && text.length === 3) return NaN
  let rest = text
  let negative = false
  if (rest.startsWith('+') || rest.startsWith('-')) {
    negative = rest.startsWith('-')
    rest = rest.slice(1)
  }
  const lower = Array.from(rest)
    .map((char) => (char >= 'A' && char <= 'Z' ? char.toLowerCase() : char))
    .join('')
  if (lower === 'inf' || lower === 'infinity') return negative ? -Infinity : Infinity
  const hex = lower.startsWith('0x')
  const chars = Array.from(hex ? lower.slice(2) : lower)
  const allowed = hex ? hexDigits : '0123456789'
  let [mantissa, digits, behind, n] = [0n, 0, 0, 0]
  let dot = false
  for (; n < chars.length; n++) {
    const char = chars[n]!
    if (char === '.' && !dot) dot = true
    else if (allowed.includes(char)) {
      mantissa = mantissa * BigInt(allowed.length) + BigInt(allowed.indexOf(char))
      digits++
      if (dot) behind++
    } else break
  }
  if (digits === 0) return undefined
  let exponent = 0n
  if (chars[n] === (hex ? 'p' : 'e')) {
    n++
    let sign = 1n
    if (chars[n] === '+' || chars[n] === '-') sign = chars[n++] === '-' ? -1n : 1n
    if (!isDigit(chars[n])) return undefined
    while (isDigit(chars[n])) exponent = exponent * 10n + BigInt(chars[n++]!)
    exponent *= sign
  } else if (hex) return undefined
  if (n < chars.length) return undefined
  const base = hex ? 2n : 10n
  exponent -= BigInt(behind * (hex ? 4 : 1))
  if (mantissa === 0n) return 0
  if (exponent > 5000n) return undefined
  if (exponent < -5000n - BigInt(digits) * 4n) return 0
  return exponent >= 0n
    ? nearest(negative, mantissa * base ** exponent, 1n)
    : nearest(negative, mantissa, base ** -exponent)
}

const leap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
const daysOf = (year: number, month: number): number =>
  [31, leap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]!

/** First day of each year, counted from 0000-01-01. */
const yearStarts: number[] = [0]
for (let year = 0; year < 9999; year++) yearStarts.push(yearStarts[year]! + (leap(year) ? 366 : 365))

/** Datetime text of api.md §8.4: nanoseconds since 0000-01-01T00:00:00Z. */
export const referenceDatetime = (text: string): bigint | undefined => {
  const chars = Array.from(text)
  let n = 0
  const number = (least: number, most: number): number | undefined => {
    let read = ''
    while (read.length < most && isDigit(chars[n])) read += chars[n++]!
    return read.length < least ? undefined : Number(read)
  }
  const char = (...wanted: string[]): string | undefined =>
    chars[n] !== undefined && wanted.includes(chars[n]!) ? chars[n++] : undefined

  const year = number(4, 4)
  if (year === undefined || !char('-')) return undefined
  const month = number(2, 2)
  if (month === undefined || month < 1 || month > 12 || !char('-')) return undefined
  const day = number(2, 2)
  if (day === undefined || day < 1 || day > daysOf(year, month)) return undefined
  let days = yearStarts[year]! + day - 1
  for (let earlier = 1; earlier < month; earlier++) days += daysOf(year, earlier)
  const midnight = BigInt(days) * 86_400_000_000_000n
  if (n === chars.length) return midnight

  if (!char('T')) return undefined
  const hour = number(1, 2)
  if (hour === undefined || hour > 23 || !char(':')) return undefined
  const minute = number(2, 2)
  if (minute === undefined || minute > 59 || !char(':')) return undefined
  const second = number(2, 2)
  if (second === undefined || second > 59) return undefined
  let fraction = ''
  if (char('.', ',')) {
    while (isDigit(chars[n])) fraction += chars[n++]!
    if (fraction === '') return undefined
  }
  let offset = 0
  const sign = char('Z', '+', '-')
  if (!sign) return undefined
  if (sign !== 'Z') {
    const hours = number(2, 2)
    if (hours === undefined || hours > 24 || !char(':')) return undefined
    const minutes = number(2, 2)
    if (minutes === undefined || minutes > 60) return undefined
    offset = (hours * 60 + minutes) * (sign === '-' ? -1 : 1)
  }
  if (n < chars.length) return undefined
  const seconds = BigInt(hour * 3600 + minute * 60 + second - offset * 60)
  return midnight + seconds * 1_000_000_000n + BigInt(`${fraction}000000000`.slice(0, 9))
}

const utf8 = (text: string): number[] =>
  Array.from(text).flatMap((char) => {
    const read = char.codePointAt(0)!
    const point = read >= 0xd800 && read <= 0xdfff ? 0xfffd : read
    const more = (shift: number): number => 0x80 | ((point >> shift) & 0x3f)
    if (point < 0x80) return [point]
    if (point < 0x800) return [0xc0 | (point >> 6), more(0)]
    if (point < 0x10000) return [0xe0 | (point >> 12), more(6), more(0)]
    return [0xf0 | (point >> 18), more(12), more(6), more(0)]
  })

/** CRC-32/IEEE of the UTF-8 bytes, bit by bit. */
export const referenceChecksum = (text: string): number => {
  let crc = 0xffffffffn
  for (const byte of utf8(text)) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = crc & 1n ? (crc >> 1n) ^ 0xedb88320n : crc >> 1n
  }
  return Number(crc ^ 0xffffffffn)
}
