import { EMPTY_ROOT, type Hash, isSameHash, nodeHash } from '../hashes.ts'
import { completeSubtrees, rootOver, split, type TreeNode } from '../tree.ts'

/** Reads the hashes of complete subtrees, in the order of the nodes. A proof calls it once with all its nodes. */
export type ReadNodes = (nodes: readonly TreeNode[]) => Promise<readonly Hash[]>

/** Leaves of a node of a tree: from the first up to but excluding the second. */
export type LeafRange = readonly [from: number, to: number]

/** Returns the hash of each node of a tree. A node at the right edge can consist of several complete subtrees. */
export const hashesOver = async (ranges: readonly LeafRange[], read: ReadNodes): Promise<readonly Hash[]> => {
  const groups = ranges.map(([from, to]) => completeSubtrees(from, to))
  const nodes = groups.flat()
  const hashes = nodes.length === 0 ? [] : await read(nodes)
  if (hashes.length !== nodes.length) throw new Error(`${hashes.length} hashes were read for ${nodes.length} nodes`)
  let at = 0
  return groups.map((group) => rootOver(hashes.slice(at, (at += group.length))))
}

/** Returns the root of the tree over the first `size` leaves. */
export const rootAt = async (size: number, read: ReadNodes): Promise<Hash> => (await hashesOver([[0, size]], read))[0]!

/** Siblings on the way from a leaf up to the root. */
const inclusionRanges = (index: number, size: number): readonly LeafRange[] => {
  const ranges: LeafRange[] = []
  for (let [from, to] = [0, size]; to - from > 1; ) {
    const middle = from + split(to - from)
    ranges.push(index < middle ? [middle, to] : [from, middle])
    if (index < middle) to = middle
    else from = middle
  }
  return ranges.reverse()
}

/** Returns true for integers with 0 ≤ index < size ≤ 2^53 − 1. */
const isLeaf = (index: number, size: number): boolean =>
  Number.isSafeInteger(index) && Number.isSafeInteger(size) && index >= 0 && index < size

/** Returns the inclusion proof of a leaf in the tree of `size` leaves, from its sibling upwards (RFC 6962 §2.1.1). */
export const inclusionProof = (index: number, size: number, read: ReadNodes): Promise<readonly Hash[]> => {
  if (!isLeaf(index, size)) throw new Error(`a tree of ${size} leaves has no leaf ${index}`)
  return hashesOver(inclusionRanges(index, size), read)
}

/** Returns true if an inclusion proof leads from the leaf to the root. */
export const verifyInclusion = (leaf: Hash, index: number, hashes: readonly Hash[], { size, root }: Tree): boolean => {
  if (!isLeaf(index, size)) return false
  const siblings = inclusionRanges(index, size)
  if (siblings.length !== hashes.length) return false
  const top = siblings.reduce(
    (hash, [from], n) => (from <= index ? nodeHash(hashes[n]!, hash) : nodeHash(hash, hashes[n]!)),
    leaf,
  )
  return isSameHash(top, root)
}

/**
 * Nodes of a consistency proof from the bottom up. `isWhole`: the tree of `from` leaves is itself a node, which the
 * proof leaves out.
 */
const consistencyRanges = (from: number, to: number): { readonly ranges: LeafRange[]; readonly isWhole: boolean } => {
  const ranges: LeafRange[] = []
  let [first, last, isWhole] = [0, to, true]
  while (from !== last) {
    const middle = first + split(last - first)
    if (from <= middle) {
      ranges.push([middle, last])
      last = middle
    } else {
      ranges.push([first, middle])
      first = middle
      isWhole = false
    }
  }
  if (!isWhole) ranges.push([first, last])
  return { ranges: ranges.reverse(), isWhole }
}

/** Returns the consistency proof between the trees of `from` and `to` leaves, 1 ≤ from ≤ to (RFC 6962 §2.1.2). */
export const consistencyProof = (from: number, to: number, read: ReadNodes): Promise<readonly Hash[]> => {
  if (from < 1 || !isLeaf(from - 1, to)) throw new Error(`no consistency proof leads from ${from} to ${to} leaves`)
  return hashesOver(consistencyRanges(from, to).ranges, read)
}

/** A tree by its number of leaves and its root. */
export type Tree = { readonly size: number; readonly root: Hash }

/** Returns true if the tree `to` begins with the leaves of the tree `from`. The proof from an empty tree is empty. */
export const verifyConsistency = (from: Tree, to: Tree, hashes: readonly Hash[]): boolean => {
  if (from.size === 0) return hashes.length === 0 && isSameHash(from.root, EMPTY_ROOT)
  if (!isLeaf(from.size - 1, to.size)) return false
  const { ranges, isWhole } = consistencyRanges(from.size, to.size)
  if (ranges.length !== hashes.length) return false
  const start = isWhole ? from.root : hashes[0]!
  let [old, grown] = [start, start]
  for (let n = isWhole ? 0 : 1; n < ranges.length; n++) {
    const hash = hashes[n]!
    const isLeft = ranges[n]![1] <= from.size
    if (isLeft) old = nodeHash(hash, old)
    grown = isLeft ? nodeHash(hash, grown) : nodeHash(grown, hash)
  }
  return isSameHash(old, from.root) && isSameHash(grown, to.root)
}
