import { sha256 } from '@noble/hashes/sha2.js'

/** SHA-256 in 32 bytes. */
type Hash = Uint8Array
export const HASH_BYTES = 32

/** A tree by its number of leaves and its root. */
export type Tree = { readonly size: number; readonly root: Hash }

/** Returns the hash of a leaf: SHA-256(0x00 ‖ entry). */
export const leafHash = (entry: Uint8Array): Hash => {
  const bytes = new Uint8Array(1 + entry.length)
  bytes.set(entry, 1)
  return sha256(bytes)
}

const pair = new Uint8Array(1 + 2 * HASH_BYTES)
pair[0] = 1

/** Returns the hash of an inner node: SHA-256(0x01 ‖ left ‖ right). */
const nodeHash = (left: Hash, right: Hash): Hash => {
  pair.set(left, 1)
  pair.set(right, 1 + HASH_BYTES)
  return sha256(pair)
}

/** Whether two hashes are equal. */
export const isSame = (one: Hash, other: Hash): boolean =>
  one.length === other.length && one.every((byte, n) => byte === other[n])

/** Tree that keeps only its right frontier, the hashes of its complete subtrees from left to right. */
export const growingTree = () => {
  const frontier: Hash[] = []
  let size = 0
  return {
    append: (leaf: Hash): void => {
      let hash = leaf
      for (let left = size; left % 2 === 1; left = (left - 1) / 2) hash = nodeHash(frontier.pop()!, hash)
      frontier.push(hash)
      size++
    },
    /** Root over all leaves so far; of an empty tree the SHA-256 of nothing (RFC 6962 §2.1). */
    root: (): Hash =>
      frontier.length === 0 ? sha256(new Uint8Array(0)) : frontier.reduceRight((right, left) => nodeHash(left, right)),
  }
}

/** Largest power of two below n, for n ≥ 2. */
const split = (n: number): number => 2 ** Math.ceil(Math.log2(n) - 1)

type Step = { readonly isLeft: boolean }

/**
 * Nodes of a consistency proof from the bottom up: whether each lies within the smaller tree. `isWhole`: the smaller
 * tree is itself a node, which the proof leaves out.
 */
const consistencySteps = (from: number, to: number): { readonly steps: readonly Step[]; readonly isWhole: boolean } => {
  const steps: Step[] = []
  let [first, last, isWhole] = [0, to, true]
  while (from !== last) {
    const middle = first + split(last - first)
    if (from <= middle) {
      steps.push({ isLeft: false })
      last = middle
    } else {
      steps.push({ isLeft: true })
      first = middle
      isWhole = false
    }
  }
  if (!isWhole) steps.push({ isLeft: true })
  return { steps: steps.reverse(), isWhole }
}

/** Whether a proof shows that the tree `to` begins with the leaves of the tree `from` (RFC 6962 §2.1.2). */
export const isExtension = (from: Tree, to: Tree, proof: readonly Hash[]): boolean => {
  if (from.size < 1 || from.size > to.size) return false
  const { steps, isWhole } = consistencySteps(from.size, to.size)
  if (steps.length !== proof.length) return false
  const start = isWhole ? from.root : proof[0]!
  let [old, grown] = [start, start]
  for (let n = isWhole ? 0 : 1; n < steps.length; n++) {
    const hash = proof[n]!
    const { isLeft } = steps[n]!
    if (isLeft) old = nodeHash(hash, old)
    grown = isLeft ? nodeHash(hash, grown) : nodeHash(grown, hash)
  }
  return isSame(old, from.root) && isSame(grown, to.root)
}
