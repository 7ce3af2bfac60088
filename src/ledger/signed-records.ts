import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { verifyCheckpoint } from '../verifier/note/signatures.ts'
import { parseVkey } from '../verifier/note/vkey.ts'
import { base64Of, bytesOfBase64 } from '../verifier/platform.ts'
import type { LedgerOfLog } from './ledger-of-log.ts'
import type { KeptCheckpoint, LedgerStore, SealedCopies, SealedRecord } from './ledger-store.ts'

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
