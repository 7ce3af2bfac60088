/** Number of consecutive events in one segment of the index. */
export const SEGMENT = 2048
const BYTES = SEGMENT / 8

/** Largest number of events for which a list of distances is shorter than a bitmap. */
const SPARSE = 128

/** Set of events in a segment of the index: bit `n % 8` of byte `n / 8` for the event at offset `n`. */
export type Bitmap = Uint8Array

/** Stored form of such a set: distances between ascending offsets, the first from -1; or a bitmap in base64. */
export type StoredSet = readonly number[] | string

const BITS = Uint8Array.from({ length: 256 }, (_, byte) => byte.toString(2).replaceAll('0', '').length)

export const noBits = (): Bitmap => new Uint8Array(BYTES)

const addOffset = (bits: Bitmap, offset: number): void => void (bits[offset >>> 3]! |= 1 << (offset & 7))

/** The offsets of the events that pass a test. */
export const bitsOf = (test: (offset: number) => boolean): Bitmap => {
  const bits = noBits()
  for (let n = 0; n < SEGMENT; n++) if (test(n)) addOffset(bits, n)
  return bits
}

/** The offsets from `low` up to, but excluding, `high`. */
export const bitsBetween = (low: number, high: number): Bitmap =>
  low === 0 && high === SEGMENT ? new Uint8Array(BYTES).fill(255) : bitsOf((offset) => offset >= low && offset < high)

/** Adds the members of a stored set to a bitmap. */
export const addSet = (bits: Bitmap, set: StoredSet): void => {
  if (typeof set === 'string') {
    for (const [n, byte] of Buffer.from(set, 'base64').entries()) bits[n]! |= byte
    return
  }
  for (const offset of numbersOf(set, -1)) addOffset(bits, offset)
}

/** Keeps only the offsets that are in both sets. */
export const intersect = (bits: Bitmap, other: Bitmap): void => {
  for (let n = 0; n < BYTES; n++) bits[n]! &= other[n]!
}

/** Removes the offsets of the other set. */
export const subtract = (bits: Bitmap, other: Bitmap): void => {
  for (let n = 0; n < BYTES; n++) bits[n]! &= ~other[n]!
}

export const isEmpty = (bits: Bitmap): boolean => bits.every((byte) => byte === 0)

export const countBits = (bits: Bitmap): number => bits.reduce((sum, byte) => sum + BITS[byte]!, 0)

/** Offsets of the set in ascending order. */
export const offsetsIn = (bits: Bitmap): readonly number[] => {
  const offsets: number[] = []
  for (let n = 0; n < BYTES; n++)
    for (let byte = bits[n]!, bit = 0; byte !== 0; byte >>>= 1, bit++) if (byte & 1) offsets.push(n * 8 + bit)
  return offsets
}

/** Offsets of a stored set in ascending order. */
export const membersOf = (set: StoredSet): readonly number[] => {
  const bits = noBits()
  addSet(bits, set)
  return offsetsIn(bits)
}

/** Distances between ascending numbers, the first from `start`. */
export const distancesOf = (numbers: readonly number[], start: number): readonly number[] =>
  numbers.map((number, n) => number - (n === 0 ? start : numbers[n - 1]!))

/** Inverse of `distancesOf`. */
export const numbersOf = (distances: readonly number[], start: number): readonly number[] => {
  let number = start
  return distances.map((distance) => (number += distance))
}

/** Stored form of ascending offsets, or of a single one. */
export const storedSet = (offsets: number | readonly number[]): StoredSet => {
  if (typeof offsets === 'number') return [offsets + 1]
  if (offsets.length <= SPARSE) return distancesOf(offsets, -1)
  const bits = noBits()
  for (const offset of offsets) addOffset(bits, offset)
  return Buffer.from(bits).toString('base64')
}
