import { type Hash, hashOfBase64 } from '../hashes.ts'
import { base64Of } from '../platform.ts'
import { type Note, parseNote } from './note.ts'
import { isKeyName } from './vkey.ts'

/** Statement of a ledger: its tree of `size` leaves has this root. */
export type Checkpoint = { readonly origin: string; readonly size: number; readonly root: Hash }

/** Returns the text that a checkpoint signs: origin, size and root on three lines. */
export const checkpointBody = ({ origin, size, root }: Checkpoint): string => `${origin}\n${size}\n${base64Of(root)}\n`

/** Returns a size or an index in decimal digits without leading zeros, at most 2^53 − 1; else undefined. */
export const parseSize = (text: string): number | undefined => {
  const size = Number(text)
  return String(size) === text && Number.isSafeInteger(size) && size >= 0 ? size : undefined
}

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
