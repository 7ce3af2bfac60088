import { fail } from '../../base/failure.ts'
import { fairGate } from '../../base/gate.ts'
import { nodesFromTiles, type ReadTile } from '../../ledger/tiles/tile-reader.ts'
import { keysOf } from '../../verifier/check/evidence.ts'
import { HASH_BYTES } from '../../verifier/hashes.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import type { ReadNodes } from '../../verifier/proof/proofs.ts'
import { tilePath, tileWidth } from '../../verifier/tiles.ts'
import type { Client } from '../client/client.ts'

/** Path of the ledger. */
export const LEDGER = '/audit/v1/ledger'
/** Number of tiles that are requested at once, and that are kept in memory (8 KiB each). */
const [AT_ONCE, KEPT] = [4, 256]

/** State of a ledger (api.md §16): the members that commands use. */
type LedgerState = {
  readonly origin: string
  readonly keys: readonly { readonly vkey: string; readonly compromised: boolean }[]
}

/** Origin of a ledger, its verifier keys without compromised ones, the current one last, and a checkpoint. */
export type LedgerNow = { readonly origin: string; readonly vkeys: readonly string[]; readonly checkpoint: string }

/** Returns the origin of the ledger of a service; fails before the ledger has begun. */
export const originOf = async ({ ask }: Client): Promise<string> =>
  (await ask<Partial<LedgerState>>('GET', LEDGER)).origin ??
  fail('unavailable', 'The ledger of the service has not begun.', 'Repeat the command in a few seconds.')

/** Returns the text of the newest checkpoint of a service, or of one that it makes now of all events so far. */
export const checkpointText = async ({ ask, bytes }: Client, isNew: boolean): Promise<string> =>
  isNew
    ? (await ask<{ readonly text: string }>('POST', `${LEDGER}/checkpoint`)).text
    : (await bytes(`${LEDGER}/checkpoint`)).toString()

/** Returns origin and keys of the ledger of a service, and its newest checkpoint, made now if the service can. */
export const ledgerNow = async (client: Client): Promise<LedgerNow> => {
  const { origin, keys } = await client.ask<LedgerState>('GET', LEDGER)
  // A service that cannot seal serves the last checkpoint.
  const checkpoint = await checkpointText(client, true).catch(() => checkpointText(client, false))
  return { origin, vkeys: keys.filter(({ compromised }) => !compromised).map(({ vkey }) => vkey), checkpoint }
}

/** Returns all verifier keys of the ledger of a service, earlier ones included. */
export const keysOfService = async ({ ask }: Client): Promise<readonly VerifierKey[]> =>
  keysOf((await ask<LedgerState>('GET', LEDGER)).keys.map(({ vkey }) => vkey))

/** Reads tiles of the tree of `size` leaves from a service, the last ones from memory. */
export const tilesOfService = ({ bytes }: Client, size: number): ReadTile => {
  const kept = new Map<string, Promise<Uint8Array>>()
  const slots = fairGate({ total: AT_ONCE })
  const fetched = async (path: string, width: number): Promise<Uint8Array> => {
    const tile = await slots.run(() => bytes(`${LEDGER}/${path}`))
    return tile.length === width * HASH_BYTES
      ? tile
      : fail('failed', `${path} of the service has ${tile.length} bytes instead of ${width * HASH_BYTES}.`)
  }
  return (address) => {
    const width = tileWidth(size, address)
    const path = tilePath({ ...address, width })
    const tile = kept.get(path) ?? fetched(path, width)
    kept.delete(path)
    kept.set(path, tile)
    for (const oldest of kept.keys()) {
      if (kept.size <= KEPT) break
      kept.delete(oldest)
    }
    return tile
  }
}

/** Reads the hashes of the tree of `size` leaves from the tiles of a service. */
export const nodesOfService = (client: Client, size: number): ReadNodes => nodesFromTiles(tilesOfService(client, size))
