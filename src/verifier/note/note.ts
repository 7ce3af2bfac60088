import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { bytesOfBase64 } from '../base64.ts'
import { isKeyName, type VerifierKey, verifierKey } from './vkey.ts'

/** Maximum size of a note in bytes, and its maximum number of signatures. */
const MAX_NOTE_BYTES = 131_072
const MAX_SIGNATURES = 100

const KEY_ID_BYTES = 4
const SIGNATURE_BYTES = 64
const TIMESTAMP_BYTES = 8

/** Signature of a note: the name and id of its key, its bytes without the id, and its line without the line break. */
export type NoteSignature = {
  readonly name: string
  readonly id: string
  readonly bytes: Buffer
  readonly line: string
}
/** Signed note (C2SP signed-note). The text ends with a line break. */
export type Note = { readonly text: string; readonly signatures: readonly NoteSignature[] }

/** Key that signs notes. */
export type Signer = { readonly key: VerifierKey; readonly privateKey: KeyObject }

/** Returns the signer of a name with an Ed25519 private key. */
export const signerOf = (name: string, privateKey: KeyObject): Signer => ({
  key: verifierKey(name, createPublicKey(privateKey)),
  privateKey,
})

const lineOf = (text: string, { key, privateKey }: Signer): string => {
  const bytes = Buffer.concat([Buffer.from(key.id, 'hex'), sign(null, Buffer.from(text), privateKey)])
  return `— ${key.name} ${bytes.toString('base64')}\n`
}

/** Returns the note of a text with a signature of each signer. The text ends with a line break. */
export const signNote = (text: string, signers: readonly Signer[]): string =>
  `${text}\n${signers.map((signer) => lineOf(text, signer)).join('')}`

/** Returns the signatures of signature lines, each with its line break; undefined if a line is malformed. */
export const parseSignatures = (lines: string): readonly NoteSignature[] | undefined => {
  const signatures: NoteSignature[] = []
  if (!lines.endsWith('\n') || lines.length > MAX_NOTE_BYTES) return undefined
  for (const line of lines.slice(0, -1).split('\n')) {
    const [dash, name, text, ...rest] = line.split(' ')
    const bytes = bytesOfBase64(text ?? '')
    if (dash !== '—' || name === undefined || !isKeyName(name) || rest.length > 0) return undefined
    if (bytes === undefined || bytes.length <= KEY_ID_BYTES || signatures.length === MAX_SIGNATURES) return undefined
    const id = bytes.toString('hex', 0, KEY_ID_BYTES)
    signatures.push({ name, id, bytes: bytes.subarray(KEY_ID_BYTES), line })
  }
  return signatures
}

/** Control characters other than the line break. */
const CONTROL = /[^\P{Cc}\n]/u

/** Returns the text and the signatures of a note; undefined if the note is malformed or too large. */
export const parseNote = (note: string): Note | undefined => {
  if (note.length > MAX_NOTE_BYTES || Buffer.byteLength(note) > MAX_NOTE_BYTES || CONTROL.test(note)) return undefined
  const end = note.lastIndexOf('\n\n') + 1
  const signatures = end === 0 ? undefined : parseSignatures(note.slice(end + 1))
  return signatures && { text: note.slice(0, end), signatures }
}

/** Signature that its key has verified. A cosignature has a time in seconds since 1970. */
export type VerifiedSignature = { readonly key: VerifierKey; readonly line: string; readonly time?: number }

/** Returns true if a signature names a key. */
export const isOfKey = ({ name, id }: NoteSignature, key: VerifierKey): boolean => name === key.name && id === key.id

/** Returns the verified signature of a text; undefined if it is of another key or wrong. */
export const verifySignature = (
  text: string,
  signature: NoteSignature,
  key: VerifierKey,
): VerifiedSignature | undefined => {
  const { bytes, line } = signature
  if (!isOfKey(signature, key)) return undefined
  if (key.type === 'ed25519')
    return bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), key.publicKey, bytes)
      ? { key, line }
      : undefined
  if (bytes.length !== TIMESTAMP_BYTES + SIGNATURE_BYTES) return undefined
  const time = Number(bytes.readBigUInt64BE())
  const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
  return Number.isSafeInteger(time) && verify(null, message, key.publicKey, bytes.subarray(TIMESTAMP_BYTES))
    ? { key, line, time }
    : undefined
}

/**
 * Verifies a note with known keys and returns one signature of each known key that signed it. Signatures of unknown
 * keys are ignored. Returns `unknown key` if no known key signed, and `wrong signature` if a signature of a known key is
 * wrong.
 */
export const verifyNote = (
  { text, signatures }: Note,
  keys: readonly VerifierKey[],
): readonly VerifiedSignature[] | 'unknown key' | 'wrong signature' => {
  const verified = new Map<VerifierKey, VerifiedSignature>()
  for (const signature of signatures) {
    const key = keys.find((key) => isOfKey(signature, key))
    if (key === undefined || verified.has(key)) continue
    const result = verifySignature(text, signature, key)
    if (result === undefined) return 'wrong signature'
    verified.set(key, result)
  }
  return verified.size === 0 ? 'unknown key' : [...verified.values()]
}
