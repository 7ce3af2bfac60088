import { HASH_BYTES, type Hash, hashAt, isSameHash } from '../hashes.ts'

/** Kind of a difference between the retained leaves of a log and its present leaves. */
export type TamperingKind = 'changed' | 'removed' | 'inserted' | 'moved' | 'truncated'

/** First difference between retained and present leaves: its index and kind. */
type Tampering = { readonly kind: TamperingKind; readonly index: number }

/**
 * Returns the kind of a difference at an index that both lists have. `isPresentRetained`: the present leaf is among the
 * retained leaves. `isRetainedPresent`: the retained leaf is among the present leaves.
 */
export const tamperingKind = (isPresentRetained: boolean, isRetainedPresent: boolean): TamperingKind => {
  if (isPresentRetained) return isRetainedPresent ? 'moved' : 'removed'
  return isRetainedPresent ? 'inserted' : 'changed'
}

/** Bytes that are compared at once. A multiple of the length of a hash. */
const STEP = 4096 * HASH_BYTES

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** True if a list has a hash. */
const hasHash = (list: Buffer, hash: Hash): boolean => {
  for (let at = list.indexOf(hash); at >= 0; at = list.indexOf(hash, at + 1)) if (at % HASH_BYTES === 0) return true
  return false
}

/** Returns the first index below the length of both lists at which they differ; undefined if there is none. */
const firstDifference = (one: Buffer, other: Buffer): number | undefined => {
  const length = Math.min(one.length, other.length)
  for (let start = 0; start < length; start += STEP) {
    const end = Math.min(length, start + STEP)
    if (one.subarray(start, end).equals(other.subarray(start, end))) continue
    for (let index = start / HASH_BYTES; ; index++)
      if (!isSameHash(hashAt(one, index), hashAt(other, index))) return index
  }
  return undefined
}

/**
 * Returns the first difference between the retained and the present leaves of a log; undefined if the present leaves
 * begin with all retained ones. The lists are hashes of 32 bytes one after the other. Reads each list at most twice.
 */
export const tamperingOf = (retained: Uint8Array, present: Uint8Array): Tampering | undefined => {
  const [kept, have] = [bufferOf(retained), bufferOf(present)]
  const index = firstDifference(kept, have)
  if (index === undefined)
    return have.length < kept.length ? { kind: 'truncated', index: have.length / HASH_BYTES } : undefined
  return { kind: tamperingKind(hasHash(kept, hashAt(have, index)), hasHash(have, hashAt(kept, index))), index }
}
