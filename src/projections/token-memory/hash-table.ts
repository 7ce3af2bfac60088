/** Part of the places that may be taken before there are twice as many. */
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
 * Finds the slot of a key of so many 32-bit words. Keys stand in one typed array by slot, with a hash table of slot
 * numbers beside it: five to eleven bytes a key more, and nothing for the collector to walk.
 */
export const hashTable = (width: number) => {
  let keys = new Uint32Array(1024 * width)
  /** A slot and one, or 0 for nothing; collisions go to the next place. */
  let places = new Uint32Array(2048)
  let size = 0

  const keyAt = (slot: number): Uint32Array => keys.subarray(slot * width, (slot + 1) * width)
  const homeOf = (words: Uint32Array): number => hashOf(words) & (places.length - 1)
  const after = (place: number): number => (place + 1) & (places.length - 1)

  const holds = (slot: number, words: Uint32Array): boolean => {
    for (let n = 0, at = slot * width; n < width; n++, at++) if (keys[at] !== words[n]) return false
    return true
  }
  /** Where the key stands, or the free place where it would. */
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
    /** Gives a slot a key that no other slot has. */
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
    /** Takes the key of a slot away. Those behind it move up, so that no search ends at the gap. */
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
    /** The key of a slot, until the slot is given another. */
    key: keyAt,
    size: (): number => size,
    /** A copy of the keys of so many slots, one behind the other. */
    copy: (slots: number): Uint32Array => keys.slice(0, slots * width),
  }
}
