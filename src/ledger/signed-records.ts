import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { insistOnCheckpoint, keysOf } from '../verifier/check/evidence.ts'
import { verifyCheckpoint } from '../verifier/note/signatures.ts'
import { parseVkey } from '../verifier/note/vkey.ts'
import { base64Of, bytesOfBase64 } from '../verifier/platform.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import type { KeptCheckpoint, LedgerStore, ScrubResult, SealedCopies, SealedRecord } from './ledger-store.ts'
import type { LogTree } from './log-tree.ts'

/** Number of the newest kept checkpoints that are verified and compared with the log. */
export const COMPARED = 8

/** Size and root in base64 of a tree that a ledger has sealed. */
export type Seal = Pick<SealedRecord, 'size' | 'root'>

/** Adds and verifies the MACs of sealed records without a signature, so that nobody else intends a checkpoint. */
export const recordMacs = (key: Uint8Array) => {
  const own = createSecretKey(createHmac('sha256', key).update('rollcall ledger record').digest())
  const macOf = ({ ledger, origin, size, root }: SealedRecord): Buffer =>
    createHmac('sha256', own)
      .update(JSON.stringify([ledger, origin, size, root]))
      .digest()
  return {
    add: (record: SealedRecord): SealedRecord => ({ ...record, mac: base64Of(macOf(record)) }),
    holds: (record: SealedRecord): boolean => {
      const [given, due] = [bytesOfBase64(record.mac ?? ''), macOf(record)]
      return given?.length === due.length && timingSafeEqual(given, due)
    },
  }
}
export type RecordMacs = ReturnType<typeof recordMacs>

/** Returns what a text seals under a key that the log of a ledger names, or the cause for which it seals nothing. */
export const sealIn = (text: string, { keys }: Pick<LedgerOfLog, 'keys'>): Seal | string => {
  const found = verifyCheckpoint(
    text,
    keys.flatMap(({ vkey }) => parseVkey(vkey) ?? []),
  )
  return typeof found === 'string' ? found : { size: found.size, root: base64Of(found.root) }
}

/** Returns true if a checkpoint has a valid signature of its ledger over its size and root. */
export const isSigned = (
  { size, root, text }: Pick<KeptCheckpoint, 'size' | 'root' | 'text'>,
  of: Pick<LedgerOfLog, 'keys'> | undefined,
): boolean => {
  const seal = of && sealIn(text, of)
  return typeof seal === 'object' && seal.size === size && seal.root === root
}

/** Maximum number of forged rows that are read before the newest signed one. */
const MOST_FORGED = 1_000

/** The newest kept checkpoints, those with a valid signature and the others. 1,000 forged rows do not hide the newest. */
export const newestSigned = async (
  store: Pick<LedgerStore, 'checkpoints'>,
  of: Pick<LedgerOfLog, 'keys'> | undefined,
): Promise<{ readonly signed: readonly KeptCheckpoint[]; readonly forged: readonly KeptCheckpoint[] }> => {
  const [signed, forged]: [KeptCheckpoint[], KeptCheckpoint[]] = [[], []]
  let kept = await store.checkpoints(Number.MAX_SAFE_INTEGER, COMPARED)
  while (kept.length > 0) {
    for (const each of kept) (isSigned(each, of) ? signed : forged).push(each)
    if (signed.length > 0 || forged.length >= MOST_FORGED) break
    kept = await store.checkpoints(kept.at(-1)!.size, COMPARED)
  }
  return { signed, forged }
}

/**
 * What the copies of a sealed record seal, and the cause for which one of them does not count. A record without a text
 * counts under its MAC alone.
 */
export const sealsOf = (
  copies: SealedCopies,
  of: Pick<LedgerOfLog, 'keys'>,
  macs: Pick<RecordMacs, 'holds'>,
): { readonly seals: readonly Seal[]; readonly fault?: string } => {
  const seals: Seal[] = []
  let fault: string | undefined
  for (const record of Object.values(copies)) {
    const { size, root, text } = record
    const seal = text === undefined ? (macs.holds(record) ? { size, root } : 'no signature') : sealIn(text, of)
    if (typeof seal !== 'string') seals.push(seal)
    if (typeof seal === 'string') fault ??= `the sealed record of ${size} events is forged or damaged: ${seal}`
    else if (seal.size !== size || seal.root !== root)
      fault ??= `the sealed record of ${size} events is forged or damaged: its text has another size or root`
  }
  return { seals, ...(fault !== undefined && { fault }) }
}

/**
 * Text of the newest checkpoint, of sealed records and signed kept checkpoints. A kept checkpoint has the signatures of
 * witnesses; a record is newer only after a crash.
 */
export const newestText = (
  records: readonly SealedRecord[],
  [kept]: readonly KeptCheckpoint[],
  of: Pick<LedgerOfLog, 'keys'>,
): string | undefined => {
  const newer = records.find(
    ({ size, root, text = '' }) => size > (kept?.size ?? 0) && isSigned({ size, root, text }, of),
  )
  return newer?.text ?? kept?.text
}

/** Number of the first events in which a scrub has found no difference. It is 0 if the first difference is unknown. */
export const soundThrough = (scrub: ScrubResult | undefined): number =>
  scrub?.ok === false ? (scrub.firstBad?.index ?? 0) : Number.POSITIVE_INFINITY

type ProvenOptions = {
  readonly store: Pick<LedgerStore, 'checkpoints' | 'scrubbed'>
  readonly tree: Pick<LogTree, 'size' | 'rootAt'>
}

/**
 * Returns the number of the first events of a log that kept checkpoints prove: the size of the largest signed checkpoint
 * that has the root of the log, up to the first difference that a scrub found. Reads a logarithmic number of checkpoints.
 */
export const provenThrough = async ({ store, tree }: ProvenOptions, of: LedgerOfLog | undefined): Promise<number> => {
  const isOfLog = async (kept: KeptCheckpoint) =>
    isSigned(kept, of) && base64Of(await tree.rootAt(kept.size)) === kept.root
  // A log has the checkpoints up to a size, and none above it.
  let [proven, from, below] = [0, 0, tree.size() + 1]
  for (let middle = tree.size(); middle > from; middle = from + Math.floor((below - from) / 2)) {
    const [kept] = await store.checkpoints(middle + 1, 1)
    if (kept && kept.size > from && !(await isOfLog(kept))) below = kept.size
    else {
      if (kept && kept.size > from) proven = kept.size
      from = middle
    }
  }
  return Math.min(proven, soundThrough(await store.scrubbed()))
}

/** Returns the keys of a ledger that nobody else may have. */
export const safeVkeys = ({ keys }: Pick<LedgerOfLog, 'keys'>): readonly string[] =>
  keys.flatMap(({ vkey, compromised }) => (compromised ? [] : [vkey]))

/** Returns what a retained checkpoint seals, which a safe key must have signed; fails as `insistOnCheckpoint`. */
export const insistOnSeal = (text: string, of: Pick<LedgerOfLog, 'keys'>, name: string): Seal => {
  const { size, root } = insistOnCheckpoint(text, keysOf(safeVkeys(of)), name)
  return { size, root: base64Of(root) }
}
