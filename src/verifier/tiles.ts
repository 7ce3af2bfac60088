import { HASH_BYTES, type Hash, hashAt } from './hashes.ts'
import { rootOver, type TreeNode } from './tree.ts'

/** Hashes of a full tile, and entries of a full bundle. */
export const TILE_WIDTH = 256
/** Levels of the tree in one tile. */
export const TILE_HEIGHT = 8
const MAX_LEVEL = 63

/**
 * Tile of C2SP tlog-tiles: `width` hashes (1 to 256) of the level 8 × `level` of the tree, from the hash
 * 256 × `index` on. The level `entries` has the entries themselves.
 */
type Tile = { readonly level: number | 'entries'; readonly index: number; readonly width: number }

/** Returns the path form of a tile index: groups of three digits, all but the last after an `x` (`x001/x234/067`). */
export const indexPath = (index: number): string => {
  const digits = String(index)
  return digits.padStart(3 * Math.ceil(digits.length / 3), '0').replace(/\d{3}(?=\d)/g, 'x$&/')
}

/** Returns the path of a tile below the prefix of the ledger. */
export const tilePath = ({ level, index, width }: Tile): string =>
  `tile/${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`

const PATH = /^tile\/(?:(entries)|(\d{1,2}))\/((?:x\d{3}\/){0,5}\d{3})(?:\.p\/(\d{1,3}))?$/

/** Returns the tile of a path; undefined if the path is not exactly the path of a tile. */
export const parseTilePath = (path: string): Tile | undefined => {
  const [, entries, level, groups, width] = PATH.exec(path) ?? []
  if (groups === undefined) return undefined
  const tile = {
    level: entries === undefined ? Number(level) : ('entries' as const),
    index: Number(groups.replace(/[x/]/g, '')),
    width: width === undefined ? TILE_WIDTH : Number(width),
  }
  if (tile.level !== 'entries' && tile.level > MAX_LEVEL) return undefined
  if (tile.width < 1 || !Number.isSafeInteger(tile.index) || tilePath(tile) !== path) return undefined
  return tile
}

/** Number of hashes of a tile in a tree of `size` leaves: 0 to 256. */
export const tileWidth = (size: number, { level, index }: Omit<Tile, 'width'>): number => {
  const hashes = level === 'entries' ? size : Math.floor(size / TILE_WIDTH ** level)
  return Math.max(0, Math.min(TILE_WIDTH, hashes - index * TILE_WIDTH))
}

/** Returns true if a tree of `size` leaves has every hash of the tile. */
export const hasTile = (size: number, tile: Tile): boolean => tile.width <= tileWidth(size, tile)

/** Tile that determines the hash of a complete subtree, and the range of its hashes below the subtree. */
type NodeInTile = {
  readonly level: number
  readonly index: number
  readonly first: number
  readonly count: number
}

/** Returns the lowest tile that determines the hash of a complete subtree. */
export const tileOfNode = ({ level, index }: TreeNode): NodeInTile => {
  const count = 2 ** (level % TILE_HEIGHT)
  const first = index * count
  return {
    level: Math.floor(level / TILE_HEIGHT),
    index: Math.floor(first / TILE_WIDTH),
    first: first % TILE_WIDTH,
    count,
  }
}

/** Returns the hash of a complete subtree from the bytes of its tile; undefined if the tile is too short. */
export const nodeInTile = (tile: Uint8Array, { first, count }: NodeInTile): Hash | undefined => {
  if (tile.length < (first + count) * HASH_BYTES) return undefined
  let hashes = Array.from({ length: count }, (_, n) => hashAt(tile, first + n))
  while (hashes.length > 1)
    hashes = Array.from({ length: hashes.length / 2 }, (_, n) => rootOver([hashes[2 * n]!, hashes[2 * n + 1]!]))
  return hashes[0]
}

/** Returns the entries of a bundle, each after its length as big-endian uint16. A bundle that is cut off ends early. */
export const entriesIn = (bundle: Uint8Array): readonly Uint8Array[] => {
  const entries: Uint8Array[] = []
  for (let at = 0; at + 2 <= bundle.length; ) {
    const end = at + 2 + bundle[at]! * 256 + bundle[at + 1]!
    if (end > bundle.length) break
    entries.push(bundle.subarray(at + 2, end))
    at = end
  }
  return entries
}
