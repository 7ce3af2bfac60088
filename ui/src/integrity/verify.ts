import { type Hash, hashOfBase64, isSameHash } from '../../../src/verifier/hashes.ts'
import { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import { type VerifierKey, vkeyOf } from '../../../src/verifier/note/vkey.ts'
import { type Tree, verifyConsistency } from '../../../src/verifier/proof/proofs.ts'
import { serviceNow } from '../api/clock.ts'
import { type LedgerStatus, readCheckpoint, readConsistency, readLedger, readTile } from '../api/ledger.ts'
import { patiently } from './patient.ts'
import { base64Of } from './platform.ts'
import { recompute } from './recompute.ts'
import { type Break, type Remembered, remember, remembered, seen, signingKeyOf } from './remembered.ts'
import { type Checkpoint, isTrusted, ledgerKeyOf, signatureOf } from './signature.ts'
import { newestKept, type Trust, trustOf } from './trust.ts'

/**
 * Result of a check. `unsealed`: there is no key or no event yet. `unchecked`: everything fits, but this browser cannot
 * check the signature.
 */
export type Verdict =
  | { readonly kind: 'verified' | 'unchecked'; readonly size: number }
  | { readonly kind: 'unsealed' | 'other' }
  | { readonly kind: 'broken'; readonly broken: Break }

/** Attempts to get a checkpoint that is not older than the verified tree, and the time between them. */
const [ATTEMPTS, AGAIN_MS] = [3, 3000]

const now = (): string => new Date(serviceNow()).toISOString()
const brokenBy = (cause: Break['cause'], index?: number): Verdict => ({
  kind: 'broken',
  broken: { cause, at: now(), ...(index !== undefined && { index }) },
})

/** The tree that this browser recomputed last. */
export const verifiedTree = ({ verified }: Remembered): Tree | undefined => {
  const root = verified && hashOfBase64(verified.root)
  return verified && root && { size: verified.size, root }
}

/** Returns why a checkpoint does not extend the verified tree; undefined if it does. */
export const unlike = async (verified: Tree, newest: Tree, signal?: AbortSignal): Promise<Verdict | undefined> => {
  if (newest.size < verified.size) return brokenBy('shorter', newest.size)
  if (newest.size === verified.size) return isSameHash(newest.root, verified.root) ? undefined : brokenBy('history')
  const { hashes } = await readConsistency(verified.size, newest.size, signal)
  const proof = hashes.map(hashOfBase64)
  const isWhole = proof.every((hash): hash is Hash => hash !== undefined)
  return isWhole && verifyConsistency(verified, newest, proof) ? undefined : brokenBy('history')
}

/**
 * Reads the newest checkpoint; undefined if it is malformed. An instance can serve a checkpoint that is a few seconds
 * old, so a smaller one than the verified tree is read again.
 */
const newestOf = async (atLeast: number, signal?: AbortSignal): Promise<Checkpoint | undefined> => {
  for (let attempt = 1; ; attempt++) {
    const checkpoint = parseCheckpoint(await readCheckpoint(signal))
    if (!checkpoint || checkpoint.size >= atLeast || attempt === ATTEMPTS) return checkpoint
    await new Promise((done) => window.setTimeout(done, AGAIN_MS))
  }
}

/** Newest checkpoint of at least `size` events with the trust in its signature, or the verdict if it has none. */
export const trusted = async (
  status: LedgerStatus,
  size?: number,
  signal?: AbortSignal,
): Promise<Verdict | (Trust & { readonly checkpoint: Checkpoint })> => {
  const known = seen(status)
  if (!known) return { kind: 'unsealed' }
  const checkpoint = await newestOf(size ?? known.verified?.size ?? 0, signal)
  const key = ledgerKeyOf(known.vkey)
  if (!checkpoint || !key) return brokenBy('signature', 0)
  if (checkpoint.size === 0) return { kind: 'unsealed' }
  const trust = await trustOf(checkpoint, key, status, signal)
  if (trust.signed === 'wrong') return brokenBy('signature', 0)
  return trust.signed === 'unsigned' ? { kind: 'other' } : { ...trust, checkpoint }
}

/** Trees of checkpoints that the key signed, and the last verified tree: ascending, each size once, up to the newest. */
const signedTrees = async (
  newest: Checkpoint,
  key: VerifierKey,
  verified: Tree | undefined,
  signal: AbortSignal,
): Promise<readonly Tree[]> => {
  const trees = new Map<number, Tree>()
  for (const kept of await newestKept(signal))
    if (kept.size < newest.size && isTrusted(await signatureOf(kept, key))) trees.set(kept.size, kept)
  if (verified && verified.size < newest.size) trees.set(verified.size, verified)
  return [...trees.values(), newest].sort((one, other) => one.size - other.size)
}

/** First difference in the place that the scrub of the service names, if it lies within the break. */
const placed = (verdict: Verdict, { scrub }: LedgerStatus): Verdict => {
  if (verdict.kind !== 'broken' || !scrub.firstBad) return verdict
  const { broken } = verdict
  const isWithin = broken.cause === 'tree' && scrub.firstBad.index >= (broken.index ?? 0)
  return isWithin ? { kind: 'broken', broken: { ...broken, index: scrub.firstBad.index } } : verdict
}

/** Remembers a verdict: a verified tree replaces an earlier break. */
const keep = (verdict: Verdict, vkey: string, newest: Tree | undefined): Verdict => {
  const { verified, other } = remembered()!
  const tree = newest && { size: newest.size, root: base64Of(newest.root), at: now() }
  const before = { vkey, ...(verified && { verified }) }
  if (verdict.kind === 'verified') remember({ vkey, ...(tree && { verified: tree }) })
  else if (verdict.kind === 'broken')
    remember({ ...before, ...(other !== undefined && { other }), broken: verdict.broken })
  else if (verdict.kind === 'unchecked') remember(before)
  return verdict
}

/**
 * Reads every entry and every leaf under the newest checkpoint, recomputes the root, checks the signature with the key
 * that this browser saw first, and that the tree extends the one that this browser verified last. Remembers the result.
 */
export const verifyHere = async (
  signal: AbortSignal,
  onProgress: (done: number, size: number) => void,
): Promise<Verdict> => {
  const status = await readLedger(signal)
  const found = await trusted(status, undefined, signal)
  const known = remembered()
  if ('kind' in found) {
    if (found.kind === 'other') remember({ ...known!, other: signingKeyOf(status) ?? '' })
    return known ? keep(found, known.vkey, undefined) : found
  }
  const { checkpoint, key, signed } = found
  const { size } = checkpoint
  const verified = verifiedTree(known!)
  const grown = verified && (await unlike(verified, checkpoint, signal))
  const difference = await recompute({
    signed: await signedTrees(checkpoint, key, verified, signal),
    read: (path) => patiently(() => readTile(path, signal), signal),
    onProgress: (done) => onProgress(done, size),
  })
  const verdict = difference && placed(brokenBy(difference.cause, difference.index), status)
  const whole: Verdict = { kind: signed === 'signed' ? 'verified' : 'unchecked', size }
  return keep(verdict ?? grown ?? whole, vkeyOf(key), checkpoint)
}
