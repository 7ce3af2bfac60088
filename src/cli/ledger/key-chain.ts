import { fail } from '../../base/failure.ts'
import type { HistoryEvents } from '../../contract/history/events.ts'
import type { LedgerCheckpoints } from '../../contract/history/ledger.ts'
import { changesTo, type KeyChange, keyChangeOf } from '../../ledger/key-changes.ts'
import { PROOF_REFUSED } from '../../verifier/check/event-proof.ts'
import { type Named, trustedKeys } from '../../verifier/check/evidence.ts'
import { isSameHash } from '../../verifier/hashes.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { type VerifiedCheckpoint, verifyCheckpoint } from '../../verifier/note/signatures.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import { verifyProof } from '../../verifier/proof/proof-text.ts'
import type { Client } from '../client/client.ts'
import { pages } from '../client/lists.ts'
import { EVENTS } from '../history/event.ts'
import { keysOfService, LEDGER } from './ledger-client.ts'

/** Items of a page that is requested from a service. */
const PAGE = 1_000

/** Proves that an event is in the tree of a checkpoint, and returns its change of the signing key. */
const provenChange = async (
  { bytes }: Client,
  { position, index }: { readonly position: string; readonly index: number },
  newest: VerifiedCheckpoint,
  keys: readonly VerifierKey[],
): Promise<KeyChange> => {
  const text = (await bytes(`${LEDGER}/proof/${position}?size=${newest.size}`)).toString()
  const proof = verifyProof(text, keys)
  if (typeof proof === 'string') return fail('check', `The proof of event ${index} ${PROOF_REFUSED[proof]}.`)
  const { size, root } = proof.checkpoint
  const change = size === newest.size && isSameHash(root, newest.root) ? keyChangeOf(proof) : undefined
  return change?.index === index
    ? change
    : fail('check', `The service sent no proof that event ${index} changes the signing key of this ledger.`)
}

/**
 * Returns the changes that lead from earlier signing keys to the keys of a checkpoint. Each is proven to be an event
 * under that checkpoint.
 */
export const changesUnder = async (
  client: Client,
  newest: VerifiedCheckpoint,
  keys: readonly VerifierKey[],
): Promise<readonly KeyChange[]> => {
  const changes: KeyChange[] = []
  const query = { type: 'SigningKeyChanged', beforeIndex: newest.size, limit: PAGE }
  for await (const { events } of pages<HistoryEvents>(client, EVENTS, query))
    for (const event of events) changes.push(await provenChange(client, event, newest, keys))
  return changesTo(keys, changes)
}

/**
 * Adds to trusted keys each key of a service that signed a kept checkpoint together with a trusted one, until one of
 * them verifies `text`. A change of a compromised key has no such checkpoint.
 */
export const followedKeys = async (
  client: Client,
  text: string,
  given: readonly VerifierKey[],
): Promise<readonly VerifierKey[]> => {
  const isVerified = (keys: readonly VerifierKey[]) => verifyCheckpoint(text, keys) !== 'unknown key'
  if (isVerified(given)) return given
  const offered = await keysOfService(client)
  const changing: Named[] = []
  let keys = given
  for await (const page of pages<LedgerCheckpoints>(client, `${LEDGER}/checkpoints`, { limit: PAGE })) {
    const signers = ({ text: note }: { readonly text: string }) => {
      const parsed = parseCheckpoint(note)
      return parsed?.note.signatures.filter(({ name }) => name === parsed.origin).length ?? 0
    }
    changing.push(...page.checkpoints.filter((one) => signers(one) > 1).map((one) => ({ name: '', text: one.text })))
    keys = trustedKeys(given, offered, changing)
    if (isVerified(keys)) break
  }
  return keys
}
