import { METHODS } from '../../events/token.ts'
import type { bloomFilter } from './bloom-filter.ts'
import type { reachPool } from './reach-pool.ts'
import type { tokenColumns } from './token-columns.ts'
import type { tokenKeys } from './token-keys.ts'
import type { tokenMakers } from './token-makers.ts'

/** Content of the index in serializable parts: facts as JSON, then the columns. */
export type TokenSnapshot = {
  readonly facts: {
    readonly reaches: readonly string[]
    readonly makers: readonly string[]
    readonly deleted: readonly number[]
    readonly inLast: number
  }
  readonly columns: readonly Uint8Array[]
}

/** Number of columns before the layers of the Bloom filter. */
const COLUMNS = 8

/** Parts of the token index. */
export type HeldTokens = {
  readonly columns: ReturnType<typeof tokenColumns>
  readonly keys: ReturnType<typeof tokenKeys>
  readonly makers: ReturnType<typeof tokenMakers>
  readonly reaches: ReturnType<typeof reachPool>
  readonly evicted: ReturnType<typeof bloomFilter>
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Copies the bytes to an aligned buffer. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** Copies the index synchronously; undefined after an overflow of the Bloom filter. */
export const tokenSnapshot = (held: HeldTokens, deleted: readonly number[]): TokenSnapshot | undefined => {
  const forgotten = held.evicted.copy()
  if (!forgotten) return undefined
  const { expires, kinds, revisions, reaches, policies, madeBy } = held.columns.copy()
  const { digests, ids } = held.keys.copy(expires.length)
  return {
    facts: {
      reaches: held.reaches.all(),
      makers: held.makers.all(),
      deleted: [...deleted],
      inLast: forgotten.inLast,
    },
    columns: [expires, kinds, revisions, reaches, policies, madeBy, digests, ids, ...forgotten.layers].map(bytesOf),
  }
}

/** Number of tokens in a copy. */
export const tokensIn = ({ columns: [expires] }: TokenSnapshot): number =>
  new Float64Array(aligned(expires!)).filter((ends) => !Number.isNaN(ends)).length

/** Restores a copy into an empty index. */
export const restoreTokens = (held: HeldTokens, { facts, columns: parts }: TokenSnapshot): void => {
  const buffers = parts.map(aligned)
  const [expires, kinds, revisions, reaches, policies, madeBy, digests, ids] = buffers as [
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
    ArrayBuffer,
  ]
  held.columns.restore({
    expires: new Float64Array(expires),
    kinds: new Uint8Array(kinds),
    revisions: new Uint16Array(revisions),
    reaches: new Uint32Array(reaches),
    policies: new Uint32Array(policies),
    madeBy: new Uint32Array(madeBy),
  })
  held.evicted.restore({
    layers: buffers.slice(COLUMNS).map((layer) => new Uint8Array(layer)),
    inLast: facts.inLast,
  })
  const keys = { digests: new Uint32Array(digests), ids: new Uint32Array(ids) }
  const { columns, size } = held.columns
  for (let slot = 0; slot < size(); slot++) {
    if (Number.isNaN(columns.expires[slot])) continue
    held.keys.restore(slot, keys)
    const reach = held.reaches.add(facts.reaches[columns.reaches[slot]!]!)
    columns.reaches[slot] = reach
    if (METHODS[columns.kinds[slot]!] === 'token')
      columns.madeBy[slot] = held.makers.add(facts.makers[columns.madeBy[slot]!], held.reaches.length(reach))
  }
}
