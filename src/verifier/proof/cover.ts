import type { Hash } from '../hashes.ts'
import { compactRange, rootOver, split } from '../tree.ts'
import { hashesOver, type LeafRange, type ReadNodes } from './proofs.ts'

/** Number of nodes that a cover reads in one call. */
const BATCH = 256

/** Selected indexes as runs: each from its first index up to but excluding the second, in ascending order. */
type Runs = Iterable<LeafRange>

/** Collects indexes as runs: two numbers for each run. */
export type Selection = {
  /** Adds an index that is greater than all before. */
  readonly add: (index: number) => void
  readonly runs: () => Generator<LeafRange>
}

/** Returns an empty selection. */
export const selection = (): Selection => {
  const bounds: number[] = []
  return {
    add: (index) => {
      const end = bounds.at(-1) ?? 0
      if (index < end) throw new Error(`index ${index} does not follow index ${end - 1}`)
      if (index === end && bounds.length > 0) bounds[bounds.length - 1] = index + 1
      else bounds.push(index, index + 1)
    },
    runs: function* () {
      for (let n = 0; n < bounds.length; n += 2) yield [bounds[n]!, bounds[n + 1]!]
    },
  }
}

/** Returns the number of leaves of the largest node of the tree of `size` leaves that begins at `from` and ends by `to`. */
const largestNode = (size: number, from: number, to: number): number => {
  const length = to - from
  const whole = length === 1 ? 1 : 2 * split(length)
  // At the right edge a node is incomplete.
  if (to === size && from % whole === 0) return length
  let leaves = 1
  while (from % (2 * leaves) === 0 && 2 * leaves <= length) leaves *= 2
  return leaves
}

/** Yields the largest nodes of the tree of `size` leaves that make up the leaves from `from` to `to`, left to right. */
const nodesBetween = function* (size: number, from: number, to: number): Generator<LeafRange> {
  for (let at = from; at < to; ) {
    const end = at + largestNode(size, at, to)
    yield [at, end]
    at = end
  }
}

/**
 * Yields the nodes of the cover of a selection in the tree of `size` leaves: the largest nodes without a selected
 * leaf, from left to right. Keeps one run at a time.
 */
export const coverRanges = function* (size: number, runs: Runs): Generator<LeafRange> {
  let at = 0
  for (const [from, to] of runs) {
    if (from < at || to <= from || to > size) throw new Error(`the run from ${from} to ${to} does not follow ${at}`)
    yield* nodesBetween(size, at, from)
    at = to
  }
  yield* nodesBetween(size, at, size)
}

/** Yields the hashes of the cover of a selection in batches. Reads the nodes of a batch in one call. */
export const coverHashes = async function* (
  size: number,
  runs: Runs,
  read: ReadNodes,
): AsyncGenerator<readonly Hash[]> {
  let batch: LeafRange[] = []
  for (const range of coverRanges(size, runs)) {
    batch.push(range)
    if (batch.length < BATCH) continue
    yield await hashesOver(batch, read)
    batch = []
  }
  if (batch.length > 0) yield await hashesOver(batch, read)
}

type CoverCheck = {
  /** Takes the leaf of the next selected record. Returns false if the index is out of order, or the list has ended. */
  readonly add: (index: number, leaf: Hash) => boolean
  /**
   * Ends the check. Returns the root over leaves and cover; undefined if a leaf was refused, or the list is not used up
   * exactly.
   */
  readonly root: () => Hash | undefined
  /** Roots of the watched sizes. A size inside a node of the cover has none. */
  readonly roots: ReadonlyMap<number, Hash>
}

/**
 * Computes the root of the tree of `size` leaves from the leaves of the selected records, in ascending order, and the
 * hashes of their cover. Keeps one hash for each level of the tree. `watched` are smaller sizes in ascending order.
 */
export const coverCheck = (size: number, hashes: Iterator<Hash>, watched: readonly number[] = []): CoverCheck => {
  const range = compactRange()
  const roots = new Map<number, Hash>()
  let [isRefused, next] = [false, 0]
  const append = (hash: Hash, level: number) => {
    range.append(hash, level)
    while (watched[next] !== undefined && watched[next]! < range.size) next++
    if (watched[next] === range.size) roots.set(range.size, range.root())
  }
  /** Appends the nodes of the cover up to an index. Returns the hash of an incomplete node, which ends the tree. */
  const fill = (to: number): Hash | undefined => {
    for (const [from, end] of nodesBetween(size, range.size, to)) {
      const { value, done } = hashes.next()
      const level = Math.log2(end - from)
      if (done === true) isRefused = true
      else if (Number.isInteger(level)) append(value, level)
      else return value
      if (isRefused) return undefined
    }
    return undefined
  }
  return {
    add: (index, leaf) => {
      if (!Number.isSafeInteger(index) || index < range.size || index >= size) isRefused = true
      else if (index > range.size) fill(index)
      if (isRefused) return false
      append(leaf, 0)
      return true
    },
    root: () => {
      const last = isRefused ? undefined : fill(size)
      if (isRefused || hashes.next().done !== true) return undefined
      return rootOver(last === undefined ? range.frontier().hashes : [...range.frontier().hashes, last])
    },
    roots,
  }
}
