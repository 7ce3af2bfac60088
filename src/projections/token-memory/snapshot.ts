import { METHODS } from '../../events/token.ts'
import type { TokenParts } from './eviction.ts'

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
