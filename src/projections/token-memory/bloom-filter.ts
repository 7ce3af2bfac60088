import { keyWords } from './token-keys.ts'

/** Digests in one layer, and bits for each: so few bits stand that of a thousand strange digests less than one seems to be there. */
const LAYER = 1_048_576
const BITS = LAYER * 16
/** Layers at most, of 2 MiB each; with more digests than fit, any may be there. */
const LAYERS = 32

/**
 * The digests of tokens that were forgotten for want of room: says of a digest that it is none of them, or that it may be one. A digest is
 * even over all values and nobody but this service can make one, so its own words say which bits it sets.
 */
export const bloomFilter = (perLayer = LAYER, most = LAYERS) => {
  const layers: Uint8Array[] = []
  let inLast = perLayer
  let overfull = false

  const bitOf = (word: number): number => word % BITS
  const isIn = (layer: Uint8Array, words: Uint32Array): boolean => {
    for (const word of words) if (((layer[bitOf(word) >>> 3]! >>> (word & 7)) & 1) === 0) return false
    return true
  }
  const has = (key: string): boolean => {
    if (layers.length === 0) return false
    const words = keyWords(key)
    return overfull || layers.some((layer) => isIn(layer, words))
  }

  return {
    has,
    add: (key: string): void => {
      if (has(key)) return
      if (inLast === perLayer) {
        if (layers.length === most) {
          overfull = true
          return
        }
        layers.push(new Uint8Array(BITS / 8))
        inLast = 0
      }
      inLast++
      const layer = layers.at(-1)!
      for (const word of keyWords(key)) layer[bitOf(word) >>> 3]! |= 1 << (word & 7)
    },
    /** A copy of the layers, and how many digests the last one has; undefined where they hold no more. */
    copy: () => (overfull ? undefined : { layers: layers.map((layer) => layer.slice()), inLast }),
    /** Takes a copy in place of what there was, which was nothing. */
    restore: (from: { readonly layers: readonly Uint8Array[]; readonly inLast: number }): void => {
      layers.push(...from.layers)
      inLast = from.inLast
    },
    /** How many there are, about. */
    count: (): number => (layers.length === 0 ? 0 : (layers.length - 1) * perLayer + inLast),
  }
}
