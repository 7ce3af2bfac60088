import { hashOfBase64 } from './base64.ts'
import { checkpointBody } from './checkpoint.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import { signerOf, signNote } from './note.ts'
import { type CheckpointSigner, isObstacle, type Obstacle, orObstacle } from './sealing.ts'
import type { SigningKeys } from './signing-keys.ts'
import { vkeyOf } from './vkey.ts'

/**
 * The signer of a ledger. Without a key it is undefined if other instances may have the key (`isShared`), else the
 * obstacle.
 */
export const checkpointSigner =
  (keys: Pick<SigningKeys, 'read'>, isShared: boolean) =>
  async ({ origin, keys: known }: LedgerOfLog): Promise<CheckpointSigner | Obstacle | undefined> => {
    const key = await orObstacle(keys.read)
    if (key && isObstacle(key)) return key
    if (!key) return isShared ? undefined : { state: 'suspended', why: 'there is no signing key' }
    const signer = signerOf(origin, key)
    if (vkeyOf(signer.key) !== known.at(-1)!.vkey)
      return { state: 'suspended', why: 'the signing key is not the one that the log names' }
    return (size, root) => ({
      text: signNote(checkpointBody({ origin, size, root: hashOfBase64(root)! }), [signer]),
      keep: false,
    })
  }
