import { bytesOfBase64, sha256 } from './platform.ts'

/** Length of a hash in bytes. */
export const HASH_BYTES = 32

/** SHA-256 in 32 bytes. */
export type Hash = Uint8Array

/** Root of the tree without leaves: SHA-256 of nothing (RFC 6962 §2.1). */
export const EMPTY_ROOT: Hash = sha256('')

const scratch = new Uint8Array(1 + 2 * HASH_BYTES)
scratch[0] = 1

/** Returns the hash of an inner node: SHA-256(0x01 ‖ left ‖ right). */
export const nodeHash = (left: Hash, right: Hash): Hash => {
  scratch.set(left, 1)
  scratch.set(right, 1 + HASH_BYTES)
  return sha256(scratch)
}

/** Returns the hash of a leaf: SHA-256(0x00 ‖ entry in UTF-8). */
export const leafOf = (entry: string | Uint8Array): Hash => {
  if (typeof entry === 'string') return sha256(`\0${entry}`)
  const bytes = new Uint8Array(1 + entry.length)
  bytes.set(entry, 1)
  return sha256(bytes)
}

/** Returns the hash at an index of hashes that follow each other in bytes. Beyond their end it is shorter. */
export const hashAt = (bytes: Uint8Array, index: number): Hash =>
  bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)

/** Yields hashes that follow each other in bytes. */
export function* hashesOf(bytes: Uint8Array): Generator<Hash> {
  for (let index = 0; index * HASH_BYTES < bytes.length; index++) yield hashAt(bytes, index)
}

/** Returns true if two hashes are equal. Hashes of the ledger are public, so the comparison may end early. */
export const isSameHash = (one: Hash, other: Hash): boolean => {
  for (let n = 0; n < one.length; n++) if (one[n] !== other[n]) return false
  return one.length === other.length
}

/** Returns the hash of a canonical base64 text of 32 bytes, else undefined. */
export const hashOfBase64 = (text: string): Hash | undefined => {
  const bytes = bytesOfBase64(text)
  return bytes?.length === HASH_BYTES ? bytes : undefined
}
