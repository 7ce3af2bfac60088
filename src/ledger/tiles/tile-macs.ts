import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { HASH_BYTES, type Hash, hashesOf, isSameHash } from '../../verifier/hashes.ts'
import { base64Of } from '../../verifier/platform.ts'
import { nodeInTile, TILE_WIDTH } from '../../verifier/tiles.ts'
import type { LedgerStore, SealedRecord, StoredTile } from '../ledger-store.ts'

/** Root of the subtree over a full tile; undefined if the tile is not full. */
export const rootOfTile = (bytes: Uint8Array): Hash | undefined =>
  bytes.length === TILE_WIDTH * HASH_BYTES
    ? nodeInTile(bytes, { level: 0, index: 0, first: 0, count: TILE_WIDTH })
    : undefined

/** A tile without its hashes. Its root stands for them. */
export type TileRoot = Omit<StoredTile, 'hashes'>

/** Adds and verifies the MACs of tiles, so that nobody else who writes to their store changes a root. */
export const tileMacs = (key: Uint8Array) => {
  const own = createSecretKey(createHmac('sha256', key).update('rollcall ledger tile').digest())
  const macOf = ({ level, n, root, position, event }: Omit<TileRoot, 'mac'>): Uint8Array =>
    createHmac('sha256', own)
      .update(JSON.stringify([level, n, String(position), event]))
      .update(root)
      .digest()
  const tailMac = (size: number, hashes: Uint8Array): Uint8Array =>
    createHmac('sha256', own)
      .update(JSON.stringify(['tail', size]))
      .update(hashes)
      .digest()
  return {
    /** Text of the leaf hashes after the last full tile of a tree: base64 of the MAC and the hashes. */
    sealTail: (size: number, hashes: readonly Hash[]): string => {
      const bytes = Buffer.concat(hashes)
      return base64Of(Buffer.concat([tailMac(size, bytes), bytes]))
    },
    /** Leaf hashes in the tail of a record; none if it has no tail, or the tail is not as it was written. */
    tailOf: ({ size, tail = '' }: Pick<SealedRecord, 'size' | 'tail'>): readonly Hash[] => {
      const bytes = Buffer.from(tail, 'base64')
      const [mac, hashes] = [bytes.subarray(0, HASH_BYTES), bytes.subarray(HASH_BYTES)]
      const isWhole = mac.length === HASH_BYTES && hashes.length === (size % TILE_WIDTH) * HASH_BYTES
      return isWhole && timingSafeEqual(mac, tailMac(size, hashes)) ? [...hashesOf(hashes)] : []
    },
    seal: (tile: Omit<StoredTile, 'mac'>): StoredTile => ({ ...tile, mac: macOf(tile) }),
    /** True if the tile was written for this level and number. A copy of another tile is not. */
    holds: (tile: TileRoot, level: number, n: number): boolean => {
      const due = macOf({ ...tile, level, n })
      return tile.mac.length === due.length && timingSafeEqual(tile.mac, due)
    },
  }
}
export type TileMacs = ReturnType<typeof tileMacs>

/** Reads a stored tile; undefined if there is none, or it is not as it was written. */
export const soundTile = async (
  store: Pick<LedgerStore, 'tile'>,
  macs: TileMacs,
  level: number,
  n: number,
): Promise<StoredTile | undefined> => {
  const tile = await store.tile(level, n)
  const root = tile && macs.holds(tile, level, n) && rootOfTile(tile.hashes)
  return root && isSameHash(root, tile.root) ? tile : undefined
}
