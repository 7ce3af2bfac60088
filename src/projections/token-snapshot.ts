import { METHODS } from '../events/token.ts'
import type { forgottenDigests } from './forgotten-digests.ts'
import type { tokenMakers } from './issuer-tally.ts'
import type { numberedTexts, tokenColumns } from './token-columns.ts'
import type { tokenKeys } from './token-keys.ts'

/** What the index holds, in parts that can be written down: facts as JSON, and columns one behind the other. */
export type TokenSnapshot = {
  readonly facts: {
    readonly namespaces: readonly (string | null)[]
    readonly makers: readonly string[]
    readonly deleted: readonly number[]
    readonly inLast: number
  }
  readonly columns: readonly Uint8Array[]
}

/** Columns in front of the layers of forgotten digests. */
const COLUMNS = 7

type Held = {
  readonly columns: ReturnType<typeof tokenColumns>
  readonly keys: ReturnType<typeof tokenKeys>
  readonly makers: ReturnType<typeof tokenMakers>
  readonly namespaces: ReturnType<typeof numberedTexts>
  readonly forgotten: ReturnType<typeof forgottenDigests>
}

const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** A copy of the bytes, which begins where numbers may. */
const aligned = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer

/** A copy of what is held, made at once; undefined where it cannot be told. */
export const tokenSnapshot = (held: Held, deleted: readonly number[]): TokenSnapshot | undefined => {
  const forgotten = held.forgotten.copy()
  if (!forgotten) return undefined
  const { expires, kinds, revisions, scopes, madeBy } = held.columns.copy()
  const { digests, ids } = held.keys.copy(expires.length)
  return {
    facts: {
      namespaces: held.namespaces.all().map((text) => text ?? null),
      makers: held.makers.all(),
      deleted: [...deleted],
      inLast: forgotten.inLast,
    },
    columns: [expires, kinds, revisions, scopes, madeBy, digests, ids, ...forgotten.layers].map(bytesOf),
  }
}

/** How many tokens a copy holds. */
export const tokensIn = ({ columns: [expires] }: TokenSnapshot): number =>
  new Float64Array(aligned(expires!)).filter((ends) => !Number.isNaN(ends)).length

/** Fills what holds nothing yet. */
export const restoreTokens = (held: Held, { facts, columns: parts }: TokenSnapshot): void => {
  const buffers = parts.map(aligned)
  const [expires, kinds, revisions, scopes, madeBy, digests, ids] = buffers as [
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
    scopes: new Uint32Array(scopes),
    madeBy: new Uint32Array(madeBy),
  })
  held.forgotten.restore({
    layers: buffers.slice(COLUMNS).map((layer) => new Uint8Array(layer)),
    inLast: facts.inLast,
  })
  const keys = { digests: new Uint32Array(digests), ids: new Uint32Array(ids) }
  const { columns, size } = held.columns
  const numbers = facts.namespaces.map((text) => held.namespaces.numberOf(text ?? undefined))
  for (let slot = 0; slot < size(); slot++) {
    if (Number.isNaN(columns.expires[slot])) continue
    held.keys.restore(slot, keys)
    columns.scopes[slot] = numbers[columns.scopes[slot]!]!
    if (METHODS[columns.kinds[slot]!] === 'token')
      columns.madeBy[slot] = held.makers.add(facts.makers[columns.madeBy[slot]!])
  }
}
