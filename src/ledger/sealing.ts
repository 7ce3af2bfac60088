import type { Clock } from '../base/clock.ts'
import { hashOfBase64 } from '../verifier/hashes.ts'
import { checkpointBody } from '../verifier/note/checkpoint.ts'
import { type Signer, signerOf, signNote, verifyCheckpoint } from '../verifier/note/signatures.ts'
import { vkeyOf } from '../verifier/note/vkey.ts'
import { base64Of } from '../verifier/platform.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import type { KeptCheckpoint, LedgerStore, SealedCopies, SealedRecord, SigningKeys } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'
import { isObstacle, newestOf, type Obstacle, obstacleFinder, orObstacle, suspended } from './obstacle.ts'
import { COMPARED, newestSigned, provenThrough, type RecordMacs, sealsOf } from './signed-records.ts'

/** A change of the signing key that is recorded, but not complete. */
type KeyChange = {
  /** Position of its event. */
  readonly position: bigint
  /** True if the new key signed the text. */
  readonly isSignedBy: (text: string) => boolean
  /** Makes the new key the only one. A checkpoint that it signed covers the event. */
  readonly complete: () => Promise<void>
}

/** Signs checkpoints with the key of a ledger; during a change of the key with both, and such a checkpoint is kept. */
type CheckpointSigner = {
  readonly sign: (size: number, root: string) => string
  readonly change?: KeyChange
}

/**
 * Outcome of an attempt to seal: the newest checkpoint, if there is one, and the obstacle with the number of the first
 * events that a kept checkpoint proves. `isUnsure`: the log was not compared, so nothing is known of it.
 */
export type Sealed = {
  readonly checkpoint: KeptCheckpoint | undefined
  readonly obstacle?: Obstacle
  readonly proven?: number
  readonly isUnsure?: true
}

type SealingOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly store: LedgerStore
  readonly tree: Pick<LogTree, 'size' | 'position' | 'root' | 'rootAt' | 'found' | 'sealedTail'>
  /** Brings the tree to the head of the log. */
  readonly advance: () => Promise<void>
  readonly ledgerOf: () => Promise<LedgerOfLog | undefined>
  /** Undefined on an instance without signing key, which serves and checks. */
  readonly signerOf: (of: LedgerOfLog) => Promise<CheckpointSigner | Obstacle | undefined>
  /** False while this instance must not sign: it is not fresh, or doubts the log. */
  readonly isSure: () => boolean
  readonly macs: RecordMacs
  /** True if other instances share the store. Those of an earlier version write a record without a MAC, then sign it. */
  readonly isShared?: boolean
  /** Receives each of the newest kept checkpoints that has no valid signature. */
  readonly onForged: (checkpoint: KeptCheckpoint) => void
  /** Receives each checkpoint that this instance has signed and kept. */
  readonly onSealed?: (checkpoint: KeptCheckpoint) => void
}

const keptOf = ({ size, root, text, sealedAt, keep = false }: SealedRecord): KeptCheckpoint | undefined =>
  size === 0 || text === undefined ? undefined : { size, root, text, sealedAt, keep }

/** True if a kept checkpoint has the text of a record. Lines of witnesses may follow the text. */
const isKept = (kept: KeptCheckpoint | undefined, { size, text }: SealedRecord): kept is KeptCheckpoint =>
  kept !== undefined && text !== undefined && kept.size === size && kept.text.startsWith(text)

/** Signs and keeps stored pairs of size and root. */
const pairSigning = ({ store, tree, isSure, onSealed }: SealingOptions) => {
  /** Signs a stored pair after the checkpoint `before`. Returns undefined if another instance was faster. */
  const signed = async (
    { sign, change }: CheckpointSigner,
    intended: SealedRecord,
    before: KeptCheckpoint | undefined,
  ): Promise<SealedRecord | undefined> => {
    if (!isSure()) return undefined
    const text = sign(intended.size, intended.root)
    const keep = change !== undefined || !before?.text.startsWith(`${intended.origin}\n`)
    const { mac: _, ...pair } = intended
    const whole = { ...pair, text, ...(keep && { keep: true }) }
    if (!(await store.advance(intended, whole))) return undefined
    await store.keep(keptOf(whole)!)
    onSealed?.(keptOf(whole)!)
    return whole
  }

  /**
   * Brings a stored pair to its end: signed, kept, and a change of the key complete if the pair covers it. Returns
   * undefined if another instance was faster.
   */
  return async (
    signer: CheckpointSigner,
    pair: SealedRecord,
    before: KeptCheckpoint | undefined,
  ): Promise<SealedRecord | undefined> => {
    const { change } = signer
    const covers = change !== undefined && pair.size === tree.size() && tree.position() >= change.position
    // Another instance may have sealed the event of the change before it read it.
    const isSigned = pair.text !== undefined && (!covers || change.isSignedBy(pair.text))
    const last = isSigned ? pair : await signed(signer, pair, before)
    if (isSigned && pair.size > 0 && !isKept(before, pair)) await store.keep(keptOf(pair)!)
    if (last && covers) await change.complete()
    return last
  }
}

/**
 * Seals the tree with a signed checkpoint. A size and root are stored as intended before they are signed, and an
 * intended pair is signed before any other. So no two roots are ever signed for one size, and no smaller size after a
 * larger one, whatever crashes and however many instances seal at once. It continues from records under a signature or a
 * MAC alone.
 */
export const sealing = (options: SealingOptions) => {
  const { clock, store, tree, ledgerOf, signerOf, isSure, macs, onForged } = options
  const [obstacleOf, whole] = [obstacleFinder(options), pairSigning(options)]
  /** Brings the store to the newest record. It is older only after the store was lost or replaced. */
  const restored = async ({ stored }: SealedCopies, newest: SealedRecord): Promise<boolean> => {
    if (stored) return stored === newest || store.advance(stored, newest)
    await store.begin(newest)
    return true
  }

  /** Size and root of the record without a text that the last attempt found. */
  let unsigned: string | undefined
  /** True if another instance may be about to sign the record. */
  const mayBeSigned = ({ stored }: SealedCopies): boolean => {
    const before = unsigned
    unsigned = stored && stored.text === undefined ? `${stored.size} ${stored.root}` : undefined
    return options.isShared === true && unsigned !== undefined && unsigned !== before
  }

  /** Returns undefined if another instance sealed at the same time. */
  const attempt = async (): Promise<Sealed | undefined> => {
    const of = await ledgerOf()
    const { signed, forged } = await newestSigned(store, of)
    const [checkpoint] = signed
    const blocked = async (obstacle: Obstacle, kept = checkpoint): Promise<Sealed> => ({
      checkpoint: kept,
      obstacle,
      proven: await provenThrough(options, of),
    })
    const copies = await orObstacle(store.sealed)
    if (isObstacle(copies)) return blocked(copies)
    const newest = newestOf(of, copies)
    if (isObstacle(newest)) return blocked(newest)
    const { seals, fault } = sealsOf(copies, of!, macs)
    const isOutdated = async () => (await ledgerOf())?.keyPosition !== of!.keyPosition
    if ((fault !== undefined || forged.length > 0) && (await isOutdated())) return undefined
    if (fault !== undefined && mayBeSigned(copies)) return { checkpoint, isUnsure: true }
    const different = await obstacleOf([...seals, ...signed], copies)
    const obstacle = different ?? (fault === undefined ? undefined : suspended(fault))
    if (isSure()) for (const each of forged.slice(0, COMPARED)) onForged(each)
    // A deposed leader returns an older log for a moment.
    if (obstacle) return isSure() ? blocked(obstacle) : { checkpoint, isUnsure: true }
    const signer = await signerOf(of!)
    /** The kept checkpoint of a record, which may have signatures of witnesses. */
    const known = (record: SealedRecord) => (isKept(checkpoint, record) ? checkpoint : keptOf(record))
    if (signer && isObstacle(signer)) {
      return (await isOutdated()) ? undefined : blocked(signer, known(newest) ?? checkpoint)
    }
    if (!signer || !isSure()) return { checkpoint: known(newest) ?? checkpoint }
    if (!(await restored(copies, newest))) return undefined
    const last = await whole(signer, newest, checkpoint)
    if (!last || tree.size() === last.size || !isSure()) return last && { checkpoint: known(last) }
    const { ledger, origin } = last
    const [root, tail, sealedAt] = [base64Of(tree.root()), tree.sealedTail(), clock.now().toISOString()]
    const intended = macs.add({ ledger, origin, size: tree.size(), root, sealedAt, tail })
    if (!(await store.advance(last, intended))) return undefined
    const next = await whole(signer, intended, keptOf(last) ?? checkpoint)
    return next && { checkpoint: keptOf(next) }
  }
  return attempt
}

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
