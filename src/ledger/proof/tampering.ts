import { sliced } from '../../base/event-loop.ts'
import { HASH_BYTES, type Hash, isSameHash } from '../hashes.ts'

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

/** Bytes that are searched or compared without yielding to the event loop. A multiple of the length of a hash. */
const STEP = 4096 * HASH_BYTES

function* stepsTo(length: number): Generator<number> {
  for (let start = 0; start < length; start += STEP) yield start
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Returns the index of a hash in a list; undefined if the list does not have it. */
const indexOf = async (list: Buffer, hash: Hash): Promise<number | undefined> => {
  for await (const part of sliced<number>([stepsTo(list.length)]))
    for (const start of part) {
      const step = list.subarray(start, start + STEP)
      for (let at = step.indexOf(hash); at >= 0; at = step.indexOf(hash, at + 1))
        if (at % HASH_BYTES === 0) return (start + at) / HASH_BYTES
    }
  return undefined
}

const hashAt = (list: Buffer, index: number): Buffer => list.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)

/** Returns the first index below the length of both lists at which they differ; undefined if there is none. */
const firstDifference = async (one: Buffer, other: Buffer): Promise<number | undefined> => {
  const length = Math.min(one.length, other.length)
  for await (const part of sliced<number>([stepsTo(length)]))
    for (const start of part) {
      const end = Math.min(length, start + STEP)
      if (!one.subarray(start, end).equals(other.subarray(start, end)))
        for (let index = start / HASH_BYTES; ; index++)
          if (!isSameHash(hashAt(one, index), hashAt(other, index))) return index
    }
  return undefined
}

/**
 * Returns the first difference between the retained and the present leaves of a log; undefined if the present leaves
 * begin with all retained ones. The lists are hashes of 32 bytes one after the other. Reads each list at most twice.
 */
export const tamperingOf = async (retained: Uint8Array, present: Uint8Array): Promise<Tampering | undefined> => {
  const [kept, have] = [bufferOf(retained), bufferOf(present)]
  const index = await firstDifference(kept, have)
  if (index === undefined)
    return have.length < kept.length ? { kind: 'truncated', index: have.length / HASH_BYTES } : undefined
  const isPresentRetained = (await indexOf(kept, hashAt(have, index))) !== undefined
  const isRetainedPresent = (await indexOf(have, hashAt(kept, index))) !== undefined
  return { kind: tamperingKind(isPresentRetained, isRetainedPresent), index }
}
