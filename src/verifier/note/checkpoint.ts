import { base64Of, hashOfBase64 } from '../base64.ts'
import type { Hash } from '../hashes.ts'
import { type Note, parseNote, type VerifiedSignature, verifyNote } from './note.ts'
import { isKeyName, type VerifierKey } from './vkey.ts'

/** Statement of a ledger: its tree of `size` leaves has this root. */
export type Checkpoint = { readonly origin: string; readonly size: number; readonly root: Hash }

/** Returns the text that a checkpoint signs: origin, size and root on three lines. */
export const checkpointBody = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${base64Of(root)}\n`

/** Returns a size or an index in decimal digits without leading zeros, at most 2^53 − 1; else undefined. */
export const parseSize = (text: string): number | undefined =>
  /^(?:0|[1-9]\d{0,15})$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : undefined

const parseBody = (body: string): Checkpoint | undefined => {
  const [origin, sizeText, rootText, ...end] = body.split('\n')
  const [size, root] = [parseSize(sizeText ?? ''), hashOfBase64(rootText ?? '')]
  if (origin === undefined || !isKeyName(origin) || size === undefined || root === undefined) return undefined
  return end.length === 1 && end[0] === '' ? { origin, size, root } : undefined
}

/**
 * Returns the note of a checkpoint and its values, not verified; undefined if the text is malformed. The body of a
 * checkpoint has exactly three lines.
 */
export const parseCheckpoint = (text: string): (Checkpoint & { readonly note: Note }) | undefined => {
  const note = parseNote(text)
  const values = note && parseBody(note.text)
  return note && values && { ...values, note }
}

/** Cause for which a checkpoint is refused. */
export type CheckpointFault = 'malformed checkpoint' | 'other origin' | 'unknown key' | 'wrong signature'

/** Checkpoint that a key of its ledger has signed, with one signature of each known key. */
export type VerifiedCheckpoint = Checkpoint & {
  readonly text: string
  readonly signatures: readonly VerifiedSignature[]
}

/**
 * Verifies the text of a checkpoint with the keys of ledgers and witnesses. A key of a ledger has the origin as its
 * name, and one of them must have signed. Lines of unknown keys are ignored.
 */
export const verifyCheckpoint = (text: string, keys: readonly VerifierKey[]): VerifiedCheckpoint | CheckpointFault => {
  const parsed = parseCheckpoint(text)
  if (parsed === undefined) return 'malformed checkpoint'
  const { note, ...values } = parsed
  const isOfLedger = ({ type, name }: VerifierKey) => type === 'ed25519' && name === values.origin
  if (!keys.some(isOfLedger)) return 'other origin'
  const signatures = verifyNote(note, keys)
  if (typeof signatures === 'string') return signatures
  return signatures.some(({ key }) => isOfLedger(key)) ? { ...values, text, signatures } : 'unknown key'
}
