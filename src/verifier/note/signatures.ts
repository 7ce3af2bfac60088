import { createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { type Checkpoint, parseCheckpoint } from './checkpoint.ts'
import { isOfKey, type Note, type NoteSignature } from './note.ts'
import { isKeyName, keyNamed, type VerifierKey } from './vkey.ts'

const SIGNATURE_BYTES = 64
const TIMESTAMP_BYTES = 8

/** Returns the verifier key of a name and an Ed25519 public key. */
export const verifierKey = (name: string, publicKey: KeyObject, type: VerifierKey['type'] = 'ed25519'): VerifierKey => {
  if (publicKey.asymmetricKeyType !== 'ed25519' || publicKey.type !== 'public')
    throw new Error('the key of a note is not an Ed25519 public key')
  if (!isKeyName(name)) throw new Error(`${JSON.stringify(name)} is not the name of a key`)
  return keyNamed(name, Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url'), type)
}

/** Returns the public key of a verifier key. */
export const publicKeyOf = ({ publicKey }: VerifierKey): KeyObject =>
  createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    format: 'jwk',
  })

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

/** Signature that its key has verified. A cosignature has a time in seconds since 1970. */
type VerifiedSignature = { readonly key: VerifierKey; readonly line: string; readonly time?: number }

/** Returns the verified signature of a text; undefined if it is of another key or wrong. */
export const verifySignature = (
  text: string,
  signature: NoteSignature,
  key: VerifierKey,
): VerifiedSignature | undefined => {
  const { bytes, line } = signature
  if (!isOfKey(signature, key)) return undefined
  if (key.type === 'ed25519')
    return bytes.length === SIGNATURE_BYTES && verify(null, Buffer.from(text), publicKeyOf(key), bytes)
      ? { key, line }
      : undefined
  if (bytes.length !== TIMESTAMP_BYTES + SIGNATURE_BYTES) return undefined
  const time = Number(Buffer.from(bytes).readBigUInt64BE())
  const message = Buffer.from(`cosignature/v1\ntime ${time}\n${text}`)
  return Number.isSafeInteger(time) && verify(null, message, publicKeyOf(key), bytes.subarray(TIMESTAMP_BYTES))
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
