import { HASH_BYTES, type Hash } from '../verifier/hashes.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../verifier/tiles.ts'
import { compactRange, type Frontier } from '../verifier/tree.ts'

/** A tile that has just become full, without the event under it. */
export type FullTile = {
  readonly level: number
  readonly n: number
  readonly hashes: Uint8Array
  readonly root: Hash
}

/** Hashes of the rightmost tile of each level, without full ones. */
export type RightTiles = readonly (readonly Hash[])[]

/** The frontier of a tree whose leaves fill whole tiles of level 0, from the hashes of its rightmost tiles above. */
const frontierOf = (right: RightTiles): Frontier => {
  let size = 0
  const hashes: Hash[] = []
  for (const [level, tile] of right.entries()) {
    const row = compactRange()
    for (const hash of tile) row.append(hash)
    hashes.unshift(...row.frontier().hashes)
    size += tile.length * TILE_WIDTH ** level
  }
  return { size, hashes }
}

/** Tree that grows leaf by leaf, with the hashes of its rightmost tiles. It passes each full tile to `onFull`. */
export const growingTree = (start: RightTiles, onFull: (tile: FullTile) => void) => {
  const right: Hash[][] = start.map((tile) => [...tile])
  const range = compactRange(frontierOf(start), (level, index, hash) => {
    if (level % TILE_HEIGHT !== 0) return
    const tileLevel = level / TILE_HEIGHT
    const below = right[tileLevel - 1]
    if (below) {
      onFull({ level: tileLevel - 1, n: index, hashes: Buffer.concat(below), root: hash })
      below.length = 0
    }
    ;(right[tileLevel] ??= []).push(hash)
  })
  return {
    append: range.append,
    root: range.root,
    size: (): number => range.size,
    /** Hashes of the leaves after the last full tile. */
    tail: (): readonly Hash[] => [...(right[0] ?? [])],
    /** Hashes of the rightmost tile of a level; undefined if the number is that of another tile. */
    rightmost: (level: number, n: number): Uint8Array | undefined => {
      const leaves = Math.floor(range.size / TILE_WIDTH ** level)
      const hashes = right[level]
      return hashes && hashes.length > 0 && Math.floor(leaves / TILE_WIDTH) === n
        ? Buffer.concat(hashes, hashes.length * HASH_BYTES)
        : undefined
    },
  }
}
export type GrowingTree = ReturnType<typeof growingTree>
