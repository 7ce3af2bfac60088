import { METHODS } from '../../events/token.ts'
import type { TokenDoc } from '../tokens.ts'
import { type issuerCounts, type reachPool, reachTextOf } from './reach-pool.ts'
import { keyWords, type tokenTable } from './table.ts'

/** Digests per layer, and bits of a layer. The rate of false positives is below 1 in 1000. */
const LAYER = 1_048_576
const BITS = LAYER * 16
/** Maximum number of layers of 2 MiB each. Beyond it, every digest may be contained. */
const LAYERS = 32
/** Maximum number of recently used tokens that one search for a token to evict skips. */
const MAX_SECOND_CHANCES = 64

/**
 * Bloom filter of the digests of evicted tokens. The filter uses the words of the digest itself as hashes, because
 * digests are uniformly distributed and only this service can create one.
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

/** Parts of the memory of tokens. */
export type TokenParts = {
  readonly table: ReturnType<typeof tokenTable>
  readonly reaches: ReturnType<typeof reachPool>
  readonly issuers: ReturnType<typeof issuerCounts>
  /** Digests of active tokens that are not in memory. */
  readonly evicted: ReturnType<typeof bloomFilter>
}

/** Fields of a token record that memory needs. */
export const FIELDS = ['digest', 'method', 'namespace', 'expiresAt', 'issuedBy', 'reach', 'policy'] as const
export type FieldsOfToken = Pick<TokenDoc, (typeof FIELDS)[number] | 'deletedAt'>

/** Finds the row number of a token to evict by the CLOCK algorithm. Returns undefined if `may` accepts no token. */
const clockHand = ({ columns, slots }: TokenParts['table']) => {
  let hand = 0
  return (may: (slot: number) => boolean): number | undefined => {
    for (let [chances, steps] = [MAX_SECOND_CHANCES, 2 * slots()]; steps > 0; hand++, steps--) {
      if (hand >= slots()) hand = 0
      if (Number.isNaN(columns.expires[hand]) || !may(hand)) continue
      if (columns.referenced[hand] === 0 || chances-- === 0) return hand++
      columns.referenced[hand] = 0
    }
    return undefined
  }
}

/**
 * Adds and removes tokens and sets their rights. Beyond `capacity` tokens or `reachBytes` bytes of rights it evicts
 * tokens. An evicted token can be found again by its digest.
 */
export const boundedTokens = (
  { table, reaches, issuers, evicted }: TokenParts,
  capacity: number,
  reachBytes: number,
) => {
  const { columns } = table
  const victim = clockHand(table)
  const isStatic = (slot: number): boolean => METHODS[columns.kinds[slot]!] === 'token'

  const remove = (slot: number): void => {
    const reach = columns.reaches[slot]!
    if (isStatic(slot)) issuers.remove(columns.issuers[slot]!, reaches.length(reach))
    reaches.remove(reach)
    table.remove(slot)
  }
  /**
   * Evicts a token that was not used recently, among those that `may` accepts. The result is false if no token can be
   * evicted.
   */
  const evict = (may: (slot: number) => boolean): boolean => {
    const slot = victim(may)
    if (slot === undefined) return false
    evicted.add(table.key(slot))
    remove(slot)
    return true
  }
  /**
   * Evicts tokens with many rights until the rights of all tokens fit into their limit; never the token with the row
   * number `but`.
   */
  const fitReaches = (but?: number): void => {
    while (reaches.bytes() > reachBytes) {
      // Tokens whose rights are smaller than this share use less than half of all bytes together.
      const much = reaches.bytes() / (2 * table.size())
      if (!evict((slot) => slot !== but && reaches.share(columns.reaches[slot]!) >= much)) return
    }
  }

  return {
    add: (key: string, id: string, doc: FieldsOfToken): number => {
      if (table.size() >= capacity) evict(() => true)
      const slot = table.add(key, id)
      columns.kinds[slot] = METHODS.indexOf(doc.method)
      const reach = reaches.add(reachTextOf(doc))
      columns.reaches[slot] = reach
      columns.policies[slot] = (doc.policy ?? -1) + 1
      if (isStatic(slot)) columns.issuers[slot] = issuers.add(doc.issuedBy, reaches.length(reach))
      fitReaches(slot)
      return slot
    },
    remove,
    /** Sets the rights and the access configuration of a token. */
    setReach: (slot: number, text: string, policy: number | undefined): void => {
      const before = columns.reaches[slot]!
      const after = reaches.add(text)
      if (isStatic(slot)) issuers.change(columns.issuers[slot]!, reaches.length(before), reaches.length(after))
      columns.reaches[slot] = after
      columns.policies[slot] = (policy ?? -1) + 1
      reaches.remove(before)
      fitReaches(slot)
    },
    fitReaches,
  }
}

/** Content of the memory of tokens in serializable parts: facts as JSON, then the columns. */
export type TokenSnapshot = {
  readonly facts: {
    readonly reaches: readonly string[]
    /** Credentials that created static tokens. */
    readonly makers: readonly string[]
    readonly deleted: readonly number[]
    readonly inLast: number
  }
  readonly columns: readonly Uint8Array[]
}

/** Columns of the table in the order of the snapshot. The keys and the layers of the Bloom filter follow. */
const SAVED = ['expires', 'kinds', 'revisions', 'reaches', 'policies', 'issuers'] as const

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Copies the bytes to an aligned buffer. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Copies the memory synchronously; undefined after an overflow of the Bloom filter. */
export const savedTokens = (
  { table, reaches, issuers, evicted }: TokenParts,
  deleted: readonly number[],
): TokenSnapshot | undefined => {
  const forgotten = evicted.copy()
  if (!forgotten) return undefined
  const slots = table.slots()
  const { layers, inLast } = forgotten
  const columns = SAVED.map((name) => table.columns[name].slice(0, slots))
  return {
    facts: { reaches: reaches.all(), makers: issuers.all(), deleted: [...deleted], inLast },
    columns: [...columns, table.digests.copy(slots), table.ids.copy(slots), ...layers].map(bytesOf),
  }
}

/** Number of tokens in a snapshot. */
export const tokensIn = ({ columns: [expires] }: TokenSnapshot): number =>
  new Float64Array(aligned(expires!)).filter((ends) => !Number.isNaN(ends)).length

/** Restores a snapshot into empty memory. */
export const loadTokens = (
  { table, reaches, issuers, evicted }: TokenParts,
  { facts, columns }: TokenSnapshot,
): void => {
  const [digests, ids, ...layers] = columns.slice(SAVED.length)
  const expires = new Float64Array(aligned(columns[0]!))
  table.restore(expires, new Uint32Array(aligned(digests!)), new Uint32Array(aligned(ids!)))
  for (const [n, name] of SAVED.entries()) new Uint8Array(table.columns[name].buffer).set(columns[n]!)
  evicted.restore({ layers: layers.map((layer) => new Uint8Array(aligned(layer))), inLast: facts.inLast })
  const { kinds, reaches: reachNumbers, issuers: issuerNumbers } = table.columns
  for (let slot = 0; slot < expires.length; slot++) {
    if (Number.isNaN(expires[slot])) continue
    const reach = reaches.add(facts.reaches[reachNumbers[slot]!]!)
    reachNumbers[slot] = reach
    if (METHODS[kinds[slot]!] === 'token')
      issuerNumbers[slot] = issuers.add(facts.makers[issuerNumbers[slot]!], reaches.length(reach))
  }
}
