import { hashOfBase64 } from '../verifier/hashes.ts'
import { checkpointBody } from '../verifier/note/checkpoint.ts'
import { type Signer, signerOf, signNote, verifyCheckpoint } from '../verifier/note/signatures.ts'
import { vkeyOf } from '../verifier/note/vkey.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import { isObstacle, type Obstacle, orObstacle } from './obstacle.ts'
import type { CheckpointSigner } from './sealing.ts'
import type { SigningKeys } from './signing-keys.ts'

const NOT_NAMED: Obstacle = { state: 'suspended', why: 'the signing key is not the one that the log names' }

const signing = (origin: string, signers: readonly Signer[]) => (size: number, root: string) =>
  signNote(checkpointBody({ origin, size, root: hashOfBase64(root)! }), signers)

/** The signer during a change: the log names the next key. The key before signs too, unless it is compromised. */
const changing = async (
  keys: Pick<SigningKeys, 'next' | 'promote'>,
  own: Signer,
  { origin, keys: known, keyPosition: position }: LedgerOfLog,
): Promise<CheckpointSigner | Obstacle> => {
  const key = await orObstacle(keys.next)
  if (key && isObstacle(key)) return key
  const [before, current] = [known.at(-2), known.at(-1)!]
  const next = key && signerOf(origin, key)
  if (!next || vkeyOf(next.key) !== current.vkey || vkeyOf(own.key) !== before?.vkey) return NOT_NAMED
  return {
    sign: signing(origin, before.compromised ? [next] : [own, next]),
    change: {
      position,
      isSignedBy: (text) => typeof verifyCheckpoint(text, [next.key]) !== 'string',
      complete: keys.promote,
    },
  }
}

/**
 * The signer of a ledger. Without a key it is undefined if other instances may have the key (`isShared`), else the
 * obstacle.
 */
export const checkpointSigner =
  (keys: Pick<SigningKeys, 'read' | 'next' | 'promote'>, isShared: boolean) =>
  async (of: LedgerOfLog): Promise<CheckpointSigner | Obstacle | undefined> => {
    const key = await orObstacle(keys.read)
    if (key && isObstacle(key)) return key
    if (!key) return isShared ? undefined : { state: 'suspended', why: 'there is no signing key' }
    const current = of.keys.at(-1)!.vkey
    const own = signerOf(of.origin, key)
    if (vkeyOf(own.key) === current) return { sign: signing(of.origin, [own]) }
    const signer = await changing(keys, own, of)
    if (signer !== NOT_NAMED) return signer
    // Another process may have completed the change after the first read.
    const again = await orObstacle(keys.read)
    if (!again || isObstacle(again)) return NOT_NAMED
    const changed = signerOf(of.origin, again)
    return vkeyOf(changed.key) === current ? { sign: signing(of.origin, [changed]) } : NOT_NAMED
  }
