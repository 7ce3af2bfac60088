import { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import type { VerifierKey } from '../../../src/verifier/note/vkey.ts'
import { type LedgerStatus, readCheckpoints } from '../api/ledger.ts'
import { type Checkpoint, isTrusted, ledgerKeyOf, type Signed, signatureOf } from './signature.ts'

/** Maximum number of pages of kept checkpoints that are searched for a change of the key. */
const MAX_PAGES = 20

/** Reads the kept checkpoints from the newest on. The answers of the service are checked by the caller. */
async function* keptCheckpoints(signal: AbortSignal | undefined): AsyncGenerator<readonly Checkpoint[]> {
  let token = ''
  for (let page = 0; page < MAX_PAGES; page++) {
    const { checkpoints, nextPageToken } = await readCheckpoints(signal, token)
    yield checkpoints.flatMap(({ text }) => parseCheckpoint(text) ?? [])
    if (nextPageToken === '') return
    token = nextPageToken
  }
}

/** Returns the newest of the kept checkpoints. */
export const newestKept = async (signal: AbortSignal | undefined): Promise<readonly Checkpoint[]> => {
  for await (const page of keptCheckpoints(signal)) return page
  return []
}

/** Returns the keys of a ledger that signed a kept checkpoint together with the key. */
const successorsOf = async (
  key: VerifierKey,
  keys: readonly VerifierKey[],
  kept: readonly Checkpoint[],
): Promise<readonly VerifierKey[]> => {
  const found: VerifierKey[] = []
  for (const checkpoint of kept.filter(({ note }) => note.signatures.length > 1)) {
    if (!isTrusted(await signatureOf(checkpoint, key))) continue
    for (const other of keys)
      if (other.id !== key.id && isTrusted(await signatureOf(checkpoint, other))) found.push(other)
  }
  return found
}

/** Result of the check of a checkpoint with the key that this browser saw first. */
export type Trust = {
  readonly signed: Signed
  /** Key that signed: the known one, or one that followed it by checkpoints with both signatures. */
  readonly key: VerifierKey
}

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
  const kept = [checkpoint]
  for await (const page of keptCheckpoints(signal)) kept.push(...page)
  const followed = new Map([[known.id, known]])
  for (const key of followed.values())
    for (const next of await successorsOf(key, keys, kept)) {
      const found = await signatureOf(checkpoint, next)
      if (found !== 'unsigned') return { signed: found, key: next }
      followed.set(next.id, next)
    }
  return { signed, key: known }
}
