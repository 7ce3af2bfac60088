import { hash } from 'node:crypto'

/** Maximum load factor before a hash table doubles. */
const FULL = 0.75
/** Initial number of rows of the table. */
const ROOM = 1024
const DIGEST_WORDS = 8
const ID_WORDS = 4
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/** Key of a digest: its bytes as latin1. A digest of another length is hashed first. */
export const keyOf = (digest: string): string => {
  const bytes = Buffer.from(digest.slice(digest.indexOf('.') + 1), 'base64url')
  return bytes.length === DIGEST_WORDS * 4 ? bytes.toString('latin1') : hash('sha256', bytes, 'binary')
}

/** Returns the 32-bit words of a key. */
export const keyWords = (key: string, into = new Uint32Array(DIGEST_WORDS)): Uint32Array => {
  for (let n = 0, at = 0; n < into.length; n++, at += 4)
    into[n] =
      key.charCodeAt(at) |
      (key.charCodeAt(at + 1) << 8) |
      (key.charCodeAt(at + 2) << 16) |
      (key.charCodeAt(at + 3) << 24)
  return into
}
const bytesOf = (word: number): string =>
  String.fromCharCode(word & 255, (word >>> 8) & 255, (word >>> 16) & 255, word >>> 24)

/** True if the table can hold this id: it is a UUID, as all ids of this service are. */
export const isUuid = (id: string): boolean => UUID.test(id)

const idWords = (id: string, into: Uint32Array): Uint32Array => {
  const digits = id.replaceAll('-', '')
  for (let n = 0; n < ID_WORDS; n++) into[n] = Number.parseInt(digits.slice(n * 8, n * 8 + 8), 16)
  return into
}

const hashOf = (words: Uint32Array): number => {
  let hash = 0
  for (let n = 0; n < words.length; n++) {
    hash = Math.imul(hash ^ words[n]!, 0x9e37_79b1)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

/**
 * Hash table from a key of `width` 32-bit words to its row number. Keys are in one typed array by row number, with a
 * table of row numbers. The table takes 5 to 11 bytes per key in addition to the key, and no work of the garbage
 * collector.
 */
export const hashTable = (width: number) => {
  let keys = new Uint32Array(ROOM * width)
  /** Row number + 1, or 0 if the entry of the hash table is empty. Collisions use linear probing. */
  let places = new Uint32Array(2 * ROOM)
  let size = 0

  const keyAt = (slot: number): Uint32Array => keys.subarray(slot * width, (slot + 1) * width)
  const homeOf = (words: Uint32Array): number => hashOf(words) & (places.length - 1)
  const after = (place: number): number => (place + 1) & (places.length - 1)

  const holds = (slot: number, words: Uint32Array): boolean => {
    for (let n = 0, at = slot * width; n < width; n++, at++) if (keys[at] !== words[n]) return false
    return true
  }
  /** Entry of the key in the hash table, or the free entry for it. */
  const placeOf = (words: Uint32Array): number => {
    let place = homeOf(words)
    while (places[place] !== 0 && !holds(places[place]! - 1, words)) place = after(place)
    return place
  }
  const put = (slot: number): void => {
    places[placeOf(keyAt(slot))] = slot + 1
  }
  const growPlaces = (): void => {
    const before = places
    places = new Uint32Array(before.length * 2)
    for (const held of before) if (held !== 0) put(held - 1)
  }

  return {
    find: (words: Uint32Array): number | undefined => {
      const held = places[placeOf(words)]!
      return held === 0 ? undefined : held - 1
    },
    /** Sets the key of a row. No other row has the key. */
    set: (slot: number, words: Uint32Array): void => {
      if ((slot + 1) * width > keys.length) {
        const before = keys
        keys = new Uint32Array(before.length * 2)
        keys.set(before)
      }
      if (size + 1 > places.length * FULL) growPlaces()
      keys.set(words, slot * width)
      put(slot)
      size++
    },
    /** Removes the key of a row. Later keys of the probe sequence move up, so that no search ends at the gap. */
    remove: (slot: number): void => {
      let gap = placeOf(keyAt(slot))
      for (let place = after(gap); places[place] !== 0; place = after(place)) {
        const home = homeOf(keyAt(places[place]! - 1))
        if (((place - home) & (places.length - 1)) < ((place - gap) & (places.length - 1))) continue
        places[gap] = places[place]!
        gap = place
      }
      places[gap] = 0
      size--
    },
    /** The key of a row, valid until the row gets another key. */
    key: keyAt,
    size: (): number => size,
    /** Copies the keys of the first rows. */
    copy: (slots: number): Uint32Array => keys.slice(0, slots * width),
  }
}

/** Columns for `room` rows. */
const emptyColumns = (room: number) => ({
  /** Expiry in epoch ms: `Infinity` if never, `NaN` if the row is free. */
  expires: new Float64Array(room),
  kinds: new Uint8Array(room),
  /** Reference bit of the CLOCK algorithm. */
  referenced: new Uint8Array(room),
  /** Revision of the last known event, up to the maximum of 16 bits. */
  revisions: new Uint16Array(room),
  /** Number of the token's set of rights. */
  reaches: new Uint32Array(room),
  /** Number of the access configuration of its grants + 1; 0 if none. */
  policies: new Uint32Array(room),
  /** Number of the credential that created the token, for static tokens. */
  issuers: new Uint32Array(room),
})

/**
 * Tokens in growing columns of typed arrays, one row for each token. Hash tables map the key of the digest and the id
 * to the row number. Free rows are reused.
 */
export const tokenTable = () => {
  const columns = emptyColumns(ROOM)
  const [digests, ids] = [hashTable(DIGEST_WORDS), hashTable(ID_WORDS)]
  const [soughtDigest, soughtId] = [new Uint32Array(DIGEST_WORDS), new Uint32Array(ID_WORDS)]
  const free: number[] = []
  let size = 0

  const growTo = (slots: number): void => {
    while (columns.kinds.length < slots) {
      const before = { ...columns }
      Object.assign(columns, emptyColumns(2 * columns.kinds.length))
      for (const [name, column] of Object.entries(before)) columns[name as keyof typeof columns].set(column)
    }
  }

  return {
    columns,
    digests,
    ids,
    byKey: (key: string): number | undefined => digests.find(keyWords(key, soughtDigest)),
    byId: (id: string): number | undefined => (isUuid(id) ? ids.find(idWords(id, soughtId)) : undefined),
    key: (slot: number): string => Array.from(digests.key(slot), bytesOf).join(''),
    id: (slot: number): string =>
      Array.from(ids.key(slot), (word) => word.toString(16).padStart(8, '0'))
        .join('')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    /** Adds a token and returns its row number. */
    add: (key: string, id: string): number => {
      const slot = free.pop() ?? size++
      growTo(size)
      columns.referenced[slot] = 0
      digests.set(slot, keyWords(key, soughtDigest))
      ids.set(slot, idWords(id, soughtId))
      return slot
    },
    remove: (slot: number): void => {
      digests.remove(slot)
      ids.remove(slot)
      columns.expires[slot] = Number.NaN
      free.push(slot)
    },
    /** Number of tokens. */
    size: digests.size,
    /** Number of rows, including free ones. */
    slots: (): number => size,
    /** Restores the expiries and the keys of an empty table. */
    restore: (expires: Float64Array, keys: Uint32Array, uuids: Uint32Array): void => {
      size = expires.length
      growTo(size)
      columns.expires.set(expires)
      for (let slot = 0; slot < size; slot++) {
        if (Number.isNaN(expires[slot])) free.push(slot)
        else {
          digests.set(slot, keys.subarray(slot * DIGEST_WORDS, (slot + 1) * DIGEST_WORDS))
          ids.set(slot, uuids.subarray(slot * ID_WORDS, (slot + 1) * ID_WORDS))
        }
      }
    },
  }
}
