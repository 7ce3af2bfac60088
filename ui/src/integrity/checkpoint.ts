import { sha256 } from '@noble/hashes/sha2.js'
import { bytesOfBase64, hexOf } from './base64.ts'
import { HASH_BYTES, type Tree } from './tree.ts'

const KEY_ID_BYTES = 4
const ED25519 = 0x01
const PUBLIC_KEY_BYTES = 32

type Signature = { readonly name: string; readonly id: string; readonly bytes: Uint8Array<ArrayBuffer> }

/** Checkpoint that is not verified yet: the signed text, its values and its signature lines. */
export type Checkpoint = Tree & {
  readonly origin: string
  readonly body: string
  readonly signatures: readonly Signature[]
}

/** Verifier key: the name of its ledger, its id (8 hexadecimal digits) and its Ed25519 public key. */
export type VerifierKey = {
  readonly vkey: string
  readonly name: string
  readonly id: string
  readonly raw: Uint8Array<ArrayBuffer>
}

const encoded = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

const signaturesIn = (lines: string): readonly Signature[] | undefined => {
  if (!lines.endsWith('\n')) return undefined
  const signatures = lines
    .slice(0, -1)
    .split('\n')
    .map((line) => {
      const [dash, name, text = '', ...rest] = line.split(' ')
      const bytes = bytesOfBase64(text)
      if (dash !== '—' || !name || rest.length > 0 || !bytes || bytes.length <= KEY_ID_BYTES) return undefined
      return { name, id: hexOf(bytes.subarray(0, KEY_ID_BYTES)), bytes: bytes.slice(KEY_ID_BYTES) }
    })
  return signatures.includes(undefined) ? undefined : (signatures as Signature[])
}

/** Reads a checkpoint (api.md §17.3); undefined if it is malformed. */
export const checkpointOf = (text: string): Checkpoint | undefined => {
  const end = text.indexOf('\n\n') + 1
  if (end === 0) return undefined
  const body = text.slice(0, end)
  const [origin = '', size = '', rootText = '', ...others] = body.split('\n')
  const [root, signatures] = [bytesOfBase64(rootText), signaturesIn(text.slice(end + 1))]
  const isPlain = /^[^\s+]+$/.test(origin) && /^(?:0|[1-9]\d{0,15})$/.test(size) && Number.isSafeInteger(Number(size))
  if (!isPlain || root?.length !== HASH_BYTES || !signatures || others.length !== 1) return undefined
  return { origin, size: Number(size), root, body, signatures }
}

/** Reads a verifier key `<name>+<id>+<base64>`; undefined if it is malformed, or its id belongs to another key. */
export const keyOf = (vkey: string): VerifierKey | undefined => {
  const [, name = '', id = '', key = ''] = /^([^\s+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(vkey) ?? []
  const bytes = bytesOfBase64(key)
  if (bytes?.length !== 1 + PUBLIC_KEY_BYTES || bytes[0] !== ED25519) return undefined
  const head = encoded(`${name}\n`)
  const digest = sha256(Uint8Array.of(...head, ...bytes))
  return hexOf(digest.subarray(0, KEY_ID_BYTES)) === id ? { vkey, name, id, raw: bytes.slice(1) } : undefined
}

/** Result of the check of a signature. `unchecked`: this browser has no Ed25519, or the page has no secure context. */
export type Signed = 'signed' | 'unsigned' | 'wrong' | 'unchecked'

/** Checks the signature of a key under a checkpoint. */
export const signatureOf = async ({ body, signatures }: Checkpoint, key: VerifierKey): Promise<Signed> => {
  const signature = signatures.find(({ name, id }) => name === key.name && id === key.id)
  if (!signature) return 'unsigned'
  // WebCrypto is absent outside of secure contexts.
  const subtle = crypto.subtle as SubtleCrypto | undefined
  if (!subtle) return 'unchecked'
  let imported: CryptoKey
  try {
    imported = await subtle.importKey('raw', key.raw, 'Ed25519', false, ['verify'])
  } catch {
    // The browser has no Ed25519.
    return 'unchecked'
  }
  return (await subtle.verify('Ed25519', imported, signature.bytes, encoded(body))) ? 'signed' : 'wrong'
}
