import { hashOfBase64, isSameHash } from '../../../src/verifier/hashes.ts'
import { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import { type VerifierKey, vkeyOf } from '../../../src/verifier/note/vkey.ts'
import { type Tree, verifyConsistency } from '../../../src/verifier/proof/proofs.ts'
import { serviceNow } from '../api/clock.ts'
import { isFailure } from '../api/failure.ts'
import { type LedgerStatus, readCheckpoint, readConsistency, readLedger, readTile } from '../api/ledger.ts'
import { base64Of } from './platform.ts'
import { recompute } from './recompute.ts'
import { type Break, type Remembered, remember, remembered, seen, signingKeyOf } from './remembered.ts'
import { type Checkpoint, isSignedBy, ledgerKeyOf } from './signature.ts'
import { readKept, type Trust, trustOf } from './trust.ts'

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
/** Attempts to read a tile, and the time before the second one in ms. */
const [TILE_ATTEMPTS, FIRST_MS] = [4, 1000]

const now = (): string => new Date(serviceNow()).toISOString()
const brokenBy = (cause: Break['cause'], index?: number): Verdict & { readonly kind: 'broken' } => ({
  kind: 'broken',
  broken: { cause, index, at: now() },
})

/** The tree that this browser recomputed last. */
export const verifiedTree = ({ verified }: Remembered): Tree | undefined => {
  const root = verified && hashOfBase64(verified.root)
  return verified && root && { size: verified.size, root }
}

/** Returns why a checkpoint does not extend an earlier tree; undefined if it does. */
export const unlike = async (earlier: Tree, newest: Tree, signal?: AbortSignal) => {
  if (newest.size < earlier.size) return brokenBy('shorter', newest.size)
  if (newest.size === earlier.size) return isSameHash(newest.root, earlier.root) ? undefined : brokenBy('history')
  const { hashes } = await readConsistency(earlier.size, newest.size, signal)
  const proof = hashes.map(hashOfBase64)
  const isExtended = proof.every((hash) => hash !== undefined) && verifyConsistency(earlier, newest, proof)
  return isExtended ? undefined : brokenBy('history')
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

/**
 * Result of the comparison of a saved checkpoint with the newest one. `extended`: the newest tree begins with the saved
 * one. `unlike`: it does not. `foreign`: another ledger made the saved one. `unsigned`: no key of the ledger signed it.
 * `untrusted`: the newest checkpoint itself has no signature of the known key.
 */
export type Comparison =
  | { readonly kind: 'extended' | 'unlike'; readonly saved: number; readonly newest: number }
  | { readonly kind: 'malformed' | 'foreign' | 'unsigned' | 'untrusted' }

/** Compares a saved checkpoint with the newest one by a consistency proof (api.md §17.5). */
export const compareSaved = async (text: string): Promise<Comparison> => {
  // Mail adds carriage returns, signs of a quotation and blanks.
  const plain = text.replace(/\r*\n|\r/g, '\n').replace(/^[ \t>]+|[ \t]+$/gm, '')
  const saved = parseCheckpoint(`${plain.trim()}\n`)
  if (!saved || saved.size === 0) return { kind: 'malformed' }
  const status = await readLedger()
  if (status.origin !== saved.origin) return { kind: 'foreign' }
  const vkeys = [seen(status)?.vkey ?? '', ...status.keys.map(({ vkey }) => vkey)]
  const keys = vkeys.flatMap((vkey) => ledgerKeyOf(vkey) ?? [])
  const signed = await Promise.all(keys.map((key) => isSignedBy(saved, key)))
  if (!signed.includes(true)) return { kind: 'unsigned' }
  const found = await trusted(status, saved.size)
  if ('kind' in found) return { kind: 'untrusted' }
  const { checkpoint } = found
  const kind = (await unlike(saved, checkpoint)) ? 'unlike' : 'extended'
  return { kind, saved: saved.size, newest: checkpoint.size }
}

/** Reads a tile, again after no answer, 429 and 503, and not before `Retry-After`. */
const tileOf = async (path: string, signal: AbortSignal): Promise<Uint8Array> => {
  for (let attempt = 1; ; attempt++)
    try {
      return await readTile(path, signal)
    } catch (error) {
      if (!isFailure(error) || ![0, 429, 503].includes(error.status) || attempt === TILE_ATTEMPTS) throw error
      const ms = (error.retryAfter ?? 0) * 1000 || FIRST_MS * 2 ** (attempt - 1)
      await new Promise((done) => {
        window.setTimeout(done, ms)
        // The next read then rejects.
        signal.addEventListener('abort', done)
      })
    }
}

/** Trees of checkpoints that the key signed, and the last verified tree: ascending, each size once, up to the newest. */
const signedTrees = async (
  newest: Checkpoint,
  key: VerifierKey,
  verified: Tree | undefined,
  signal: AbortSignal,
): Promise<readonly Tree[]> => {
  const trees = new Map<number, Tree>()
  for (const kept of await readKept(1, signal))
    if (kept.size < newest.size && (await isSignedBy(kept, key))) trees.set(kept.size, kept)
  if (verified && verified.size < newest.size) trees.set(verified.size, verified)
  return [...trees.values(), newest].sort((one, other) => one.size - other.size)
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
  const known = remembered()!
  if ('kind' in found) {
    if (found.kind === 'other') remember({ ...known, other: signingKeyOf(status) ?? '' })
    if (found.kind === 'broken') remember({ ...known, broken: found.broken })
    return found
  }
  const { checkpoint, signed } = found
  const { size } = checkpoint
  const vkey = vkeyOf(found.key)
  const tree = verifiedTree(known)
  const grown = tree && (await unlike(tree, checkpoint, signal))
  const difference = await recompute({
    signed: await signedTrees(checkpoint, found.key, tree, signal),
    read: (path) => tileOf(path, signal),
    onProgress: (done) => onProgress(done, size),
  })
  const { verified, other } = remembered()!
  // The scrub of the service can name a place within the difference.
  const bad = difference?.cause === 'tree' ? (status.scrub.firstBad?.index ?? 0) : 0
  const broken = difference ? brokenBy(difference.cause, Math.max(difference.index, bad)) : grown
  if (broken) {
    remember({ vkey, verified, other, broken: broken.broken })
    return broken
  }
  const isSigned = signed === 'signed'
  remember({ vkey, verified: isSigned ? { size, root: base64Of(checkpoint.root), at: now() } : verified })
  return { kind: isSigned ? 'verified' : 'unchecked', size }
}
