import type { Clock } from '../clock.ts'
import { Refusal } from '../errors.ts'
import { base64Of } from './base64.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import {
  type KeptCheckpoint,
  type LedgerStore,
  newestKept,
  type ScrubResult,
  type SealedCopies,
  type SealedRecord,
} from './ledger-store.ts'
import { notExtending } from './log-comparison.ts'
import type { LogTree } from './log-tree.ts'

/** Reason why nothing is signed. */
export type Obstacle = { readonly state: 'suspended' | 'diverged'; readonly why: string }

/** Signs checkpoints with the key of a ledger. `keep` is true for the first checkpoint of another key. */
export type CheckpointSigner = (size: number, root: string) => { readonly text: string; readonly keep: boolean }

/** Outcome of an attempt to seal: the newest checkpoint, if there is one, and the obstacle. */
export type Sealed = { readonly checkpoint: KeptCheckpoint | undefined; readonly obstacle?: Obstacle }

type SealingOptions = {
  readonly clock: Pick<Clock, 'now'>
  readonly store: LedgerStore
  readonly tree: Pick<LogTree, 'size' | 'root' | 'rootAt' | 'found'>
  /** Brings the tree to the head of the log. */
  readonly advance: () => Promise<void>
  readonly ledgerOf: () => Promise<LedgerOfLog | undefined>
  /** Undefined on an instance without signing key, which serves and checks. */
  readonly signerOf: (of: LedgerOfLog) => Promise<CheckpointSigner | Obstacle | undefined>
  /** False while this instance must not sign: it is not fresh, or doubts the log. */
  readonly isSure: () => boolean
  /** Receives each checkpoint that this instance has signed and kept. */
  readonly onSealed?: (checkpoint: KeptCheckpoint) => void
}

const suspended = (why: string): Obstacle => ({ state: 'suspended', why })
const diverged = (why: string): Obstacle => ({ state: 'diverged', why })
export const isObstacle = (value: object): value is Obstacle => 'why' in value

/** A difference that a scrub found counts on all instances until an operator resumes or restarts the ledger. */
const scrubbedObstacle = (scrub: ScrubResult | undefined): Obstacle | undefined => {
  if (scrub?.ok !== false) return undefined
  const { firstBad } = scrub
  return diverged(firstBad ? `event ${firstBad.index} of the log is ${firstBad.kind}` : 'the log is not the sealed one')
}

const keptOf = ({ size, root, text = '', sealedAt, keep = false }: SealedRecord): KeptCheckpoint | undefined =>
  text === '' ? undefined : { size, root, text, sealedAt, keep }

/** Result of a read, or the obstacle if its content is unusable. Rejects if the store is out of reach. */
export const orObstacle = async <T>(read: () => Promise<T>): Promise<T | Obstacle> => {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Refusal) throw error
    return suspended(error instanceof Error ? error.message : String(error))
  }
}

/** Newest of the copies of the sealed record. The largest counts; of two with the same size, the one with a text. */
const newestOf = (of: LedgerOfLog | undefined, copies: SealedCopies): SealedRecord | Obstacle => {
  const records = Object.values(copies)
  if (!of) return suspended('there is a sealed record, but the log names no ledger')
  const foreign = records.find(({ ledger }) => ledger !== of.ledger)
  if (foreign)
    return suspended(`the log names ledger ${of.ledger}, but the sealed record is of ledger ${foreign.ledger}`)
  if (records.some(({ copy }) => copy)) return suspended('the sealed record is a copy from a backup')
  const rank = ({ size, text }: SealedRecord) => 2 * size + (text === undefined ? 0 : 1)
  return (
    records.toSorted((a, b) => rank(b) - rank(a))[0] ?? suspended(`there is no sealed record of ledger ${of.ledger}`)
  )
}

/** Finds the obstacle if the log does not extend the records, or a checkpoint that a witness has. */
const obstacleFinder = ({ store, tree, advance }: Pick<SealingOptions, 'store' | 'tree' | 'advance'>) => {
  /** Cause for which the log does not extend a size and root; undefined if it does. */
  const differenceTo = async ({ size, root }: Pick<SealedRecord, 'size' | 'root'>): Promise<string | undefined> => {
    // Another instance may have sealed events that this one does not have yet.
    if (tree.size() < size) await advance()
    const own = tree.size() < size ? undefined : await tree.rootAt(size)
    const why = notExtending(tree.size(), own, { size, root })
    const found = why === undefined ? undefined : own && tree.found()
    return found && found.index < size ? `${why}; event ${found.index} is the first with another kept hash` : why
  }

  return async (newest: SealedRecord, copies: SealedCopies): Promise<Obstacle | undefined> => {
    // An older copy is of the same tree.
    const others = Object.values(copies).filter(({ root }) => root !== newest.root)
    for (const record of [newest, ...others]) {
      const why = await differenceTo(record)
      if (why !== undefined) return diverged(why)
    }
    for (const { witnessed } of Object.values(copies)) {
      const why = witnessed && (await differenceTo(witnessed))
      if (why !== undefined) return diverged(`the witness ${witnessed!.witness} has another checkpoint: ${why}`)
    }
    return scrubbedObstacle(await store.scrubbed())
  }
}

/**
 * Seals the tree with a signed checkpoint. A size and root are stored as intended before they are signed, and an
 * intended pair is signed before any other. So no two roots are ever signed for one size, and no smaller size after a
 * larger one, whatever crashes and however many instances seal at once.
 */
export const sealing = (options: SealingOptions) => {
  const { clock, store, tree, ledgerOf, signerOf, isSure, onSealed } = options
  const obstacleOf = obstacleFinder(options)
  /** Brings the store to the newest record. It is older only after the store was lost or replaced. */
  const restored = async ({ stored }: SealedCopies, newest: SealedRecord): Promise<boolean> => {
    if (stored) return stored === newest || store.advance(stored, newest)
    await store.begin(newest)
    return true
  }

  /** Signs an intended pair after the checkpoint `before`. Returns undefined if another instance was faster. */
  const signed = async (
    sign: CheckpointSigner,
    intended: SealedRecord,
    before: KeptCheckpoint | undefined,
  ): Promise<SealedRecord | undefined> => {
    if (!isSure()) return undefined
    const { text, keep } = sign(intended.size, intended.root)
    const isKept = keep || !before?.text.startsWith(`${intended.origin}\n`)
    const whole = { ...intended, text, ...(isKept && { keep: true }) }
    if (!(await store.advance(intended, whole))) return undefined
    await store.keep(keptOf(whole)!)
    onSealed?.(keptOf(whole)!)
    return whole
  }

  /** Returns undefined if another instance sealed at the same time. */
  const attempt = async (): Promise<Sealed | undefined> => {
    const of = await ledgerOf()
    const checkpoint = await newestKept(store)
    const copies = await orObstacle(store.sealed)
    if (isObstacle(copies)) return { checkpoint, obstacle: copies }
    const newest = newestOf(of, copies)
    if (isObstacle(newest)) return { checkpoint, obstacle: newest }
    const obstacle = await obstacleOf(newest, copies)
    // A deposed leader returns an older log for a moment.
    if (obstacle) return isSure() ? { checkpoint, obstacle } : { checkpoint }
    const signer = await signerOf(of!)
    /** The kept checkpoint of a record, which may have signatures of witnesses. */
    const known = (record: SealedRecord) =>
      checkpoint && checkpoint.size === record.size && checkpoint.root === record.root ? checkpoint : keptOf(record)
    if (signer && isObstacle(signer)) return { checkpoint: known(newest) ?? checkpoint, obstacle: signer }
    if (!signer || !isSure()) return { checkpoint: known(newest) ?? checkpoint }
    if (!(await restored(copies, newest))) return undefined
    let last: SealedRecord | undefined = newest
    if (newest.text === undefined) last = await signed(signer, newest, checkpoint)
    else if (newest.size > 0 && checkpoint?.size !== newest.size) await store.keep(keptOf(newest)!)
    if (!last || tree.size() === last.size || !isSure()) return last && { checkpoint: known(last) }
    const { ledger, origin } = last
    const root = base64Of(tree.root())
    const intended = { ledger, origin, size: tree.size(), root, sealedAt: clock.now().toISOString() }
    if (!(await store.advance(last, intended))) return undefined
    last = await signed(signer, intended, keptOf(last) ?? checkpoint)
    return last && { checkpoint: keptOf(last) }
  }
  return attempt
}
