import type { Hash } from '../../verifier/hashes.ts'
import type { ReadNodes } from '../../verifier/proof/proofs.ts'
import { nodeInTile, tileOfNode } from '../../verifier/tiles.ts'

/** Level and index of a tile of hashes. */
type TileAddress = { readonly level: number; readonly index: number }

/** Reads one tile of hashes, as wide as the tree has it. */
export type ReadTile = (tile: TileAddress) => Promise<Uint8Array>

/** Returns a reader of nodes that reads each tile once in a call, the tiles of a call at the same time. */
export const nodesFromTiles =
  (readTile: ReadTile): ReadNodes =>
  async (nodes) => {
    const tiles = new Map<string, Promise<Uint8Array>>()
    const hashOf = async (place: ReturnType<typeof tileOfNode>): Promise<Hash> => {
      const name = `${place.level}/${place.index}`
      const bytes = tiles.get(name) ?? readTile({ level: place.level, index: place.index })
      tiles.set(name, bytes)
      const hash = nodeInTile(await bytes, place)
      if (hash === undefined) throw new Error(`tile ${name} is narrower than the tree`)
      return hash
    }
    return Promise.all(nodes.map((node) => hashOf(tileOfNode(node))))
  }
