import { HASH_BYTES, type Hash, hashAt } from '../hashes.ts'
import type { ReadNodes } from '../proof/proofs.ts'
import { compactRange } from '../tree.ts'

/** Leaves of a log in their order, 32 bytes each. */
export type LeafList = {
  readonly add: (leaf: Hash) => void
  readonly size: number
  /** All leaves, one after the other. */
  readonly bytes: () => Buffer
  /** Reads the hashes of the tree over the leaves. */
  readonly nodes: ReadNodes
}

const FIRST_SIZE = 4_096

/** Returns an empty list. */
export const leafList = (): LeafList => {
  let [list, size] = [Buffer.alloc(FIRST_SIZE * HASH_BYTES), 0]
  return {
    add: (leaf) => {
      if (size * HASH_BYTES === list.length) list = Buffer.concat([list, Buffer.alloc(list.length)])
      list.set(leaf, size++ * HASH_BYTES)
    },
    get size() {
      return size
    },
    bytes: () => list.subarray(0, size * HASH_BYTES),
    nodes: async (wanted) =>
      wanted.map(({ level, index }) => {
        const range = compactRange()
        for (let n = index * 2 ** level; n < (index + 1) * 2 ** level; n++) range.append(hashAt(list, n))
        return range.root()
      }),
  }
}
