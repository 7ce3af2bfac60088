import { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import type { VerifierKey } from '../../../src/verifier/note/vkey.ts'
import { type LedgerStatus, readCheckpoints } from '../api/ledger.ts'
import { type Checkpoint, isSignedBy, ledgerKeyOf, type Signed, signatureOf } from './signature.ts'

/** Reads the kept checkpoints from the newest on, at most this number of pages. They are not verified. */
export const readKept = async (pages: number, signal: AbortSignal | undefined): Promise<readonly Checkpoint[]> => {
  const kept: Checkpoint[] = []
  let token = ''
  for (let page = 0; page === 0 || (page < pages && token !== ''); page++) {
    const { checkpoints, nextPageToken } = await readCheckpoints(signal, token)
    kept.push(...checkpoints.flatMap(({ text }) => parseCheckpoint(text) ?? []))
    token = nextPageToken
  }
  return kept
}

/** Result of the check of a checkpoint with the key that this browser saw first. */
export type Trust = {
  readonly signed: Signed
  /** Key that signed: the known one, or one that followed it by checkpoints with both signatures. */
  readonly key: VerifierKey
}

/** Maximum number of pages of kept checkpoints that are searched for a change of the key. */
const MAX_PAGES = 20

/**
 * Checks the signature of a checkpoint with the known key. If another key signed, follows the changes of the key by
 * the kept checkpoints with both signatures (api.md §17.6). The result is `unsigned` if no such key signed.
 */
export const trustOf = async (
  checkpoint: Checkpoint,
  known: VerifierKey,
  status: LedgerStatus,
  signal?: AbortSignal,
): Promise<Trust> => {
  const signed = await signatureOf(checkpoint, known)
  if (signed !== 'unsigned' || known.name !== checkpoint.origin) return { signed, key: known }
  const keys = status.keys.flatMap(({ vkey }) => ledgerKeyOf(vkey) ?? [])
  const kept = [checkpoint, ...(await readKept(MAX_PAGES, signal))]
  const changes = kept.filter(({ note }) => note.signatures.length > 1)
  const followed = new Map([[known.id, known]])
  for (const key of followed.values())
    for (const change of changes) {
      if (!(await isSignedBy(change, key))) continue
      for (const next of keys) {
        if (followed.has(next.id) || !(await isSignedBy(change, next))) continue
        const found = await signatureOf(checkpoint, next)
        if (found !== 'unsigned') return { signed: found, key: next }
        followed.set(next.id, next)
      }
    }
  return { signed, key: known }
}
