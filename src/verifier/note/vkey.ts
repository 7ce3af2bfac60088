import { base64Of, bytesOfBase64, sha256, utf8 } from '../platform.ts'

/** Bytes of the signature types of C2SP signed-note: Ed25519 over the text, and the cosignature of a witness. */
const TYPES = { ed25519: 0x01, cosignature: 0x04 } as const
type SignatureType = keyof typeof TYPES

const PUBLIC_KEY_BYTES = 32
/** Length of the id of a key in bytes. */
export const KEY_ID_BYTES = 4

/** Ed25519 key that verifies signatures of notes. A signature names it by `name` and `id` (8 hexadecimal digits). */
export type VerifierKey = {
  readonly name: string
  readonly id: string
  readonly type: SignatureType
  /** The 32 bytes of the public key. */
  readonly publicKey: Uint8Array<ArrayBuffer>
}

/** Returns the id of a key in the first bytes of a list. */
export const keyIdIn = (bytes: Uint8Array): string =>
  Array.from(bytes.subarray(0, KEY_ID_BYTES), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns true for the name of a key: without spaces, control characters and `+`, at most 255 bytes. */
export const isKeyName = (name: string): boolean =>
  name !== '' && utf8(name).length <= 255 && !/[\s\p{Cc}+]/u.test(name)

/** Returns the key of a name. The id is the first 4 bytes of SHA-256(name ‖ 0x0A ‖ type ‖ public key). */
export const keyNamed = (name: string, publicKey: Uint8Array<ArrayBuffer>, type: SignatureType): VerifierKey => {
  const id = keyIdIn(sha256(Uint8Array.of(...utf8(`${name}\n`), TYPES[type], ...publicKey)))
  return { name, id, type, publicKey }
}

/** Returns the text of a verifier key: `<name>+<id>+<base64 of type and public key>`. */
export const vkeyOf = ({ name, id, type, publicKey }: VerifierKey): string =>
  `${name}+${id}+${base64Of(Uint8Array.of(TYPES[type], ...publicKey))}`

/** Returns the key of a verifier key text; undefined if the text is malformed, or its id belongs to another key. */
export const parseVkey = (text: string): VerifierKey | undefined => {
  // The base64 of the last part may contain a plus sign.
  const [, name, id, key] = /^([^+]+)\+([0-9a-f]{8})\+([^\n]+)$/.exec(text) ?? []
  const bytes = bytesOfBase64(key ?? '')
  const type = (Object.keys(TYPES) as SignatureType[]).find((type) => TYPES[type] === bytes?.[0])
  if (name === undefined || !isKeyName(name) || type === undefined) return undefined
  if (bytes?.length !== 1 + PUBLIC_KEY_BYTES) return undefined
  const parsed = keyNamed(name, bytes.subarray(1), type)
  return parsed.id === id ? parsed : undefined
}
