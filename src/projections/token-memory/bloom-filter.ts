import { keyWords } from './token-keys.ts'

/** Digests per layer, and bits of a layer. The rate of false positives is below 1 in 1000. */
const LAYER = 1_048_576
const BITS = LAYER * 16
/** Maximum number of layers of 2 MiB each. Beyond it, every digest may be contained. */
const LAYERS = 32

/**
 * Bloom filter of the digests of evicted tokens. It uses the words of the digest itself as hashes, because digests are
 * uniformly distributed and only this service can create one.
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
    /** Copies the layers, and the number of digests in the last one; undefined after an overflow. */
    copy: () => (overfull ? undefined : { layers: layers.map((layer) => layer.slice()), inLast }),
    /** Restores a copy into an empty filter. */
    restore: (from: { readonly layers: readonly Uint8Array[]; readonly inLast: number }): void => {
      layers.push(...from.layers)
      inLast = from.inLast
    },
    /** Approximate number of digests. */
    count: (): number => (layers.length === 0 ? 0 : (layers.length - 1) * perLayer + inLast),
  }
}
