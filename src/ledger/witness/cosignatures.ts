import { isOfKey, type NoteSignature, parseSignatures } from '../../verifier/note/note.ts'
import { verifySignature } from '../../verifier/note/signatures.ts'
import type { VerifierKey } from '../../verifier/note/vkey.ts'
import type { KeptCheckpoint } from '../ledger-store.ts'

/** Maximum difference in ms between the time of a cosignature and the clock. */
const TOLERANCE_MS = 300_000

/** Text that the signatures of a checkpoint sign. */
export const bodyOf = (text: string): string => text.slice(0, text.indexOf('\n\n') + 1)

/** Returns the first signature of a key in signature lines, not verified. Malformed lines are ignored. */
const signatureIn = (lines: string, key: VerifierKey): NoteSignature | undefined => {
  for (const line of lines.split('\n')) {
    const signature = line.startsWith(`— ${key.name} `) ? parseSignatures(`${line}\n`)?.[0] : undefined
    if (signature && isOfKey(signature, key)) return signature
  }
  return undefined
}

/** A verified cosignature: its line, and its time in ms since 1970. */
export type Cosignature = { readonly line: string; readonly time: number }

/** Maximum time in ms that a Date can hold. */
const LAST_MS = 8.64e15

const verified = (body: string, signature: NoteSignature | undefined, key: VerifierKey): Cosignature | undefined => {
  const found = signature && verifySignature(body, signature, key)
  const time = (found?.time ?? Number.POSITIVE_INFINITY) * 1000
  return found && time <= LAST_MS ? { line: found.line, time } : undefined
}

/** Returns true if a checkpoint has a signature of a key, not verified. */
export const hasSignature = (text: string, key: VerifierKey): boolean =>
  signatureIn(text.slice(bodyOf(text).length), key) !== undefined

/** Returns the cosignature of a key on a checkpoint; undefined if it has none. */
export const cosignatureOf = (text: string, key: VerifierKey): Cosignature | undefined => {
  const body = bodyOf(text)
  return verified(body, signatureIn(text.slice(body.length), key), key)
}

/** Returns the cosignature in the answer of a witness, or the cause for which there is none. */
export const cosignatureIn = (answer: string, body: string, key: VerifierKey, now: Date): Cosignature | string => {
  const found = verified(body, signatureIn(answer, key), key)
  if (!found) return 'the answer has no valid cosignature'
  return Math.abs(found.time - now.getTime()) <= TOLERANCE_MS
    ? found
    : 'the time of the cosignature differs from the clock of this service by more than 5 minutes'
}

/** Returns a checkpoint with a further signature line. Its body stays the same. */
export const withLine = (checkpoint: KeptCheckpoint, line: string): KeptCheckpoint =>
  checkpoint.text.split('\n').includes(line) ? checkpoint : { ...checkpoint, text: `${checkpoint.text}${line}\n` }
