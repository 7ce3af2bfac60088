import { createPublicKey, type KeyObject } from 'node:crypto'
import { bytesOfBase64 } from '../base64.ts'
import { sha256 } from '../hashes.ts'

/** Bytes of the signature types of C2SP signed-note: Ed25519 over the text, and the cosignature of a witness. */
const TYPES = { ed25519: 0x01, cosignature: 0x04 } as const
type SignatureType = keyof typeof TYPES

const PUBLIC_KEY_BYTES = 32

/** Ed25519 key that verifies signatures of notes. A signature names it by `name` and `id` (8 hexadecimal digits). */
export type VerifierKey = {
  readonly name: string
  readonly id: string
  readonly type: SignatureType
  readonly publicKey: KeyObject
}

/** Returns true for the name of a key: without spaces, control characters and `+`, at most 255 bytes. */
export const isKeyName = (name: string): boolean =>
  name !== '' && Buffer.byteLength(name) <= 255 && !/[\s\p{Cc}+]/u.test(name)

/** Returns the type byte and the public key: the last part of a vkey. */
const encoded = (type: SignatureType, publicKey: KeyObject): Buffer =>
  Buffer.concat([Uint8Array.of(TYPES[type]), Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url')])

/** Returns the key of a name. The id is the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key). */
export const verifierKey = (name: string, publicKey: KeyObject, type: SignatureType = 'ed25519'): VerifierKey => {
  if (publicKey.asymmetricKeyType !== 'ed25519' || publicKey.type !== 'public')
    throw new Error('the key of a note is not an Ed25519 public key')
  if (!isKeyName(name)) throw new Error(`${JSON.stringify(name)} is not the name of a key`)
  const digest = sha256(Buffer.concat([Buffer.from(`${name}\n`), encoded(type, publicKey)]))
  return { name, id: Buffer.from(digest.subarray(0, 4)).toString('hex'), type, publicKey }
}

/** Returns the text of a verifier key: `<name>+<id>+<base64 of type and public key>`. */
export const vkeyOf = ({ name, id, type, publicKey }: VerifierKey): string =>
  `${name}+${id}+${encoded(type, publicKey).toString('base64')}`

/** Returns the key of a verifier key text; undefined if the text is malformed, or its id belongs to another key. */
export const parseVkey = (text: string): VerifierKey | undefined => {
  // The base64 of the last part may contain a plus sign.
  const [, name, id, key] = /^([^+]+)\+([0-9a-f]{8})\+([^\n]+)$/.exec(text) ?? []
  const bytes = bytesOfBase64(key ?? '')
  const type = (Object.keys(TYPES) as SignatureType[]).find((type) => TYPES[type] === bytes?.[0])
  if (name === undefined || !isKeyName(name) || type === undefined) return undefined
  if (bytes?.length !== 1 + PUBLIC_KEY_BYTES) return undefined
  const x = bytes.subarray(1).toString('base64url')
  const parsed = verifierKey(name, createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }), type)
  return parsed.id === id ? parsed : undefined
}
