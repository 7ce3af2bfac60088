import { type Hash, isSameHash } from '../hashes.ts'
import { type Checkpoint, parseCheckpoint } from '../note/checkpoint.ts'
import { verifyCheckpoint } from '../note/signatures.ts'
import type { VerifierKey } from '../note/vkey.ts'
import type { Named } from './evidence.ts'
import type { Findings } from './findings.ts'

/** Maximum time in ms that a Date can hold. */
const LAST_MS = 8.64e15

/**
 * Returns the values of a checkpoint, and notes why it is refused. A checkpoint with a wrong signature still has values,
 * which serve to name the records that differ.
 */
export const checkpointOf = (
  { name, text }: Named,
  keys: readonly VerifierKey[],
  origin: string,
  found: Findings,
): Checkpoint | undefined => {
  const verified = verifyCheckpoint(text, keys)
  if (typeof verified === 'string') found.add({ kind: verified, about: name })
  const values = parseCheckpoint(text)
  if (values && values.origin !== origin) {
    found.add({ kind: 'other origin', about: name })
    return undefined
  }
  return values
}

/** Cosignature of a witness: its name, the size of the checkpoint, and its time, RFC 3339. */
export type CosignedSize = { readonly name: string; readonly size: number; readonly time: string }

/** Returns the valid cosignatures of the given keys on checkpoints, the smallest size first. */
export const cosignedSizes = (checkpoints: readonly Named[], keys: readonly VerifierKey[]): readonly CosignedSize[] => {
  const all = new Map<string, CosignedSize>()
  for (const { text } of checkpoints) {
    const verified = verifyCheckpoint(text, keys)
    if (typeof verified === 'string') continue
    for (const { key, line, time } of verified.signatures)
      if (time !== undefined && time * 1000 <= LAST_MS)
        all.set(line, { name: key.name, size: verified.size, time: new Date(time * 1000).toISOString() })
  }
  return [...all.values()].toSorted((one, other) => one.size - other.size)
}

/** Result of a comparison of roots at some sizes: the largest size that agrees, and the smallest that does not. */
type Agreement = { readonly good: number; readonly bad: number | undefined }

/** Compares retained roots with computed ones. `rootAt` returns undefined for a size that it cannot compute. */
export const agreementOf = (retained: readonly Checkpoint[], rootAt: (size: number) => Hash | undefined): Agreement => {
  let [good, bad]: [number, number | undefined] = [0, undefined]
  for (const { size, root } of retained.toSorted((one, other) => one.size - other.size)) {
    const computed = rootAt(size)
    if (computed === undefined || bad !== undefined) continue
    if (isSameHash(computed, root)) good = size
    else bad = size
  }
  return { good, bad }
}
