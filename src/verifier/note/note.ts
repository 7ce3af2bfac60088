import { bytesOfBase64, utf8 } from '../platform.ts'
import { isKeyName, KEY_ID_BYTES, keyIdIn, type VerifierKey } from './vkey.ts'

/** Maximum size of a note in bytes, and its maximum number of signatures. */
const MAX_NOTE_BYTES = 131_072
const MAX_SIGNATURES = 100

/** Signature of a note: the name and id of its key, its bytes without the id, and its line without the line break. */
export type NoteSignature = {
  readonly name: string
  readonly id: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly line: string
}
/** Signed note (C2SP signed-note). The text ends with a line break. */
export type Note = { readonly text: string; readonly signatures: readonly NoteSignature[] }

/** Returns the signatures of signature lines, each with its line break; undefined if a line is malformed. */
export const parseSignatures = (lines: string): readonly NoteSignature[] | undefined => {
  const signatures: NoteSignature[] = []
  if (!lines.endsWith('\n') || lines.length > MAX_NOTE_BYTES) return undefined
  for (const line of lines.slice(0, -1).split('\n')) {
    const [dash, name, text, ...rest] = line.split(' ')
    const bytes = bytesOfBase64(text ?? '')
    if (dash !== '—' || name === undefined || !isKeyName(name) || rest.length > 0) return undefined
    if (bytes === undefined || bytes.length <= KEY_ID_BYTES || signatures.length === MAX_SIGNATURES) return undefined
    signatures.push({ name, id: keyIdIn(bytes), bytes: bytes.subarray(KEY_ID_BYTES), line })
  }
  return signatures
}

/** Control characters other than the line break. */
const CONTROL = /[^\P{Cc}\n]/u

/** Returns the text and the signatures of a note; undefined if the note is malformed or too large. */
export const parseNote = (note: string): Note | undefined => {
  if (utf8(note).length > MAX_NOTE_BYTES || CONTROL.test(note)) return undefined
  const end = note.lastIndexOf('\n\n') + 1
  const signatures = end === 0 ? undefined : parseSignatures(note.slice(end + 1))
  return signatures && { text: note.slice(0, end), signatures }
}

/** Returns true if a signature names a key. */
export const isOfKey = ({ name, id }: NoteSignature, key: VerifierKey): boolean => name === key.name && id === key.id
