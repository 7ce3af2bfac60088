import { HASH_BYTES, type Hash, isSameHash } from '../../verifier/hashes.ts'
import { nodeInTile, TILE_WIDTH } from '../../verifier/tiles.ts'

/** Root of the subtree over a full tile; undefined if the tile is not full. */
export const rootOfTile = (bytes: Uint8Array): Hash | undefined =>
  bytes.length === TILE_WIDTH * HASH_BYTES
    ? nodeInTile(bytes, { level: 0, index: 0, first: 0, count: TILE_WIDTH })
    : undefined

/** Returns true if the hashes are those of a full tile with this root. */
export const isTileOf = (bytes: Uint8Array, root: Hash): boolean => {
  const own = rootOfTile(bytes)
  return own !== undefined && isSameHash(own, root)
}
