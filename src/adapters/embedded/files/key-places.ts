import { randomInt } from 'node:crypto'

const EMPTY = 0

/**
 * Hash table that numbers keys from 1 and finds the number of a key. A slot takes eight bytes; at most three quarters
 * of the slots are in use. The table stores a hash per key and fetches the key itself with `keyOf` only when hashes are
 * equal.
 */
export const keyPlaces = (keyOf: (number: number) => string) => {
  const seed = randomInt(2 ** 32)
  let numbers = new Uint32Array(1024)
  let hashes = new Uint32Array(1024)
  let size = 0

  const hashOf = (key: string): number => {
    let hash = seed
    for (let n = 0; n < key.length; n++) hash = Math.imul(hash ^ key.charCodeAt(n), 0x0100_0193)
    hash = Math.imul(hash ^ (hash >>> 15), 0x9e37_79b1)
    return (hash ^ (hash >>> 13)) >>> 0
  }
  const after = (place: number): number => (place + 1) & (numbers.length - 1)
  const free = (hash: number): number => {
    let place = hash & (numbers.length - 1)
    while (numbers[place] !== EMPTY) place = after(place)
    return place
  }
  const put = (number: number, hash: number): void => {
    const place = free(hash)
    numbers[place] = number
    hashes[place] = hash
  }
  const grow = (): void => {
    const [before, their] = [numbers, hashes]
    numbers = new Uint32Array(before.length * 2)
    hashes = new Uint32Array(before.length * 2)
    for (const [place, number] of before.entries()) if (number !== EMPTY) put(number, their[place]!)
  }
  const find = (key: string, hash = hashOf(key)): number | undefined => {
    for (let place = hash & (numbers.length - 1); numbers[place] !== EMPTY; place = after(place))
      if (hashes[place] === hash && keyOf(numbers[place]!) === key) return numbers[place]
    return undefined
  }

  return {
    find: (key: string): number | undefined => find(key),
    /** Number of a key; assigns the next number to a new key. */
    take: (key: string): number => {
      const hash = hashOf(key)
      const found = find(key, hash)
      if (found !== undefined) return found
      if ((size + 1) * 4 > numbers.length * 3) grow()
      put(++size, hash)
      return size
    },
    size: (): number => size,
  }
}
