import { EMPTY_ROOT, type Hash, nodeHash } from './hashes.ts'

/** Complete subtree over the leaves from `index` × 2^`level` on, 2^`level` in number. */
export type TreeNode = { readonly level: number; readonly index: number }

/** Largest power of two below n, for n ≥ 2: the number of leaves in the left half of a tree of n leaves (RFC 6962 §2.1). */
export const split = (n: number): number => {
  const high = Math.floor((n - 1) / 2 ** 32)
  return high > 0 ? 2 ** (63 - Math.clz32(high)) : 2 ** (31 - Math.clz32(n - 1))
}

/**
 * Returns the complete subtrees of the leaves from `from` up to but excluding `to`, from left to right. `from` is a
 * multiple of the largest power of two that is at most the number of leaves.
 */
export const completeSubtrees = (from: number, to: number): readonly TreeNode[] => {
  const nodes: TreeNode[] = []
  for (let at = from; at < to; ) {
    const leaves = split(to - at + 1)
    nodes.push({ level: Math.log2(leaves), index: at / leaves })
    at += leaves
  }
  return nodes
}

/** Returns the root over complete subtrees from left to right, each smaller than the one before. */
export const rootOver = (hashes: readonly Hash[]): Hash =>
  hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => nodeHash(left, right))

/** Number of leaves, and the hashes of the complete subtrees from left to right: the right frontier of the tree. */
export type Frontier = { readonly size: number; readonly hashes: readonly Hash[] }

type CompactRange = {
  /**
   * Appends a leaf, or a complete subtree of 2^`level` leaves. The size must be a multiple of the number of these leaves.
   */
  readonly append: (hash: Hash, level?: number) => void
  /** Returns the root of the tree over all leaves so far. */
  readonly root: () => Hash
  /** Returns the state from which another compact range continues. */
  readonly frontier: () => Frontier
  readonly size: number
}

/**
 * Tree that keeps only its right frontier: at most log₂(size) + 1 hashes. It continues from a frontier, else from the
 * empty tree. `onNode` receives each complete subtree as soon as it exists, leaves included.
 */
export const compactRange = (
  start: Frontier = { size: 0, hashes: [] },
  onNode?: (level: number, index: number, hash: Hash) => void,
): CompactRange => {
  const hashes = [...start.hashes]
  let { size } = start
  if (hashes.length !== completeSubtrees(0, size).length)
    throw new Error(`a frontier of ${size} leaves does not have ${hashes.length} hashes`)
  return {
    append: (appended, from = 0) => {
      let [hash, level, index] = [appended, from, size / 2 ** from]
      if (!Number.isInteger(index)) throw new Error(`${size} leaves do not end before a subtree of level ${from}`)
      onNode?.(level, index, hash)
      while (index % 2 === 1) {
        hash = nodeHash(hashes.pop()!, hash)
        index = (index - 1) / 2
        onNode?.(++level, index, hash)
      }
      hashes.push(hash)
      size += 2 ** from
    },
    root: () => rootOver(hashes),
    frontier: () => ({ size, hashes: [...hashes] }),
    get size() {
      return size
    },
  }
}
