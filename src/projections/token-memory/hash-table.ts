/** Maximum load factor before the table doubles. */
const FULL = 0.75

const hashOf = (words: Uint32Array): number => {
  let hash = 0
  for (let n = 0; n < words.length; n++) {
    hash = Math.imul(hash ^ words[n]!, 0x9e37_79b1)
    hash ^= hash >>> 15
  }
  return hash >>> 0
}

/**
 * Hash table from a key of `width` 32-bit words to its slot. Keys are in one typed array by slot, with a table of slot
 * numbers. This costs 5 to 11 bytes per key in addition to the key, and no work of the garbage collector.
 */
export const hashTable = (width: number) => {
  let keys = new Uint32Array(1024 * width)
  /** Slot + 1, or 0 if empty. Collisions use linear probing. */
  let places = new Uint32Array(2048)
  let size = 0

  const keyAt = (slot: number): Uint32Array => keys.subarray(slot * width, (slot + 1) * width)
  const homeOf = (words: Uint32Array): number => hashOf(words) & (places.length - 1)
  const after = (place: number): number => (place + 1) & (places.length - 1)

  const holds = (slot: number, words: Uint32Array): boolean => {
    for (let n = 0, at = slot * width; n < width; n++, at++) if (keys[at] !== words[n]) return false
    return true
  }
  /** Place of the key, or the free place for it. */
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
    /** Sets the key of a slot. No other slot has the key. */
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
    /** Removes the key of a slot. Later keys of the probe sequence move up, so that no search ends at the gap. */
    remove: (slot: number): void => {
      let gap = placeOf(keyAt(slot))
      for (let place = after(gap); places[place] !== 0; place = after(place)) {
        const home = homeOf(keyAt(places[place]! - 1))
        const reaches = ((place - home) & (places.length - 1)) >= ((place - gap) & (places.length - 1))
        if (!reaches) continue
        places[gap] = places[place]!
        gap = place
      }
      places[gap] = 0
      size--
    },
    /** The key of a slot, valid until the slot gets another. */
    key: keyAt,
    size: (): number => size,
    /** Copies the keys of the first slots. */
    copy: (slots: number): Uint32Array => keys.slice(0, slots * width),
  }
}
