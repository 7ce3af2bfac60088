import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import type { LedgerStore, StoredTile } from '../ledger-store.ts'
import { isTileOf } from './tile-hashes.ts'

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
  return {
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
  return tile && macs.holds(tile, level, n) && isTileOf(tile.hashes, tile.root) ? tile : undefined
}
