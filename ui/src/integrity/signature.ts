import type { parseCheckpoint } from '../../../src/verifier/note/checkpoint.ts'
import { isOfKey } from '../../../src/verifier/note/note.ts'
import { parseVkey, type VerifierKey } from '../../../src/verifier/note/vkey.ts'
import { utf8 } from './platform.ts'

/** Checkpoint that is not verified yet. */
export type Checkpoint = NonNullable<ReturnType<typeof parseCheckpoint>>

/** Reads the key of a ledger; undefined if it is malformed, or the key of a witness. */
export const ledgerKeyOf = (vkey: string): VerifierKey | undefined => {
  const key = parseVkey(vkey)
  return key?.type === 'ed25519' ? key : undefined
}

/** Result of the check of a signature. `unchecked`: this browser has no Ed25519, or the page has no secure context. */
export type Signed = 'signed' | 'unsigned' | 'wrong' | 'unchecked'

/** Checks the signature of a key under a checkpoint. */
export const signatureOf = async ({ note }: Checkpoint, key: VerifierKey): Promise<Signed> => {
  const signature = note.signatures.find((one) => isOfKey(one, key))
  if (!signature) return 'unsigned'
  // WebCrypto is absent outside of secure contexts.
  const subtle = crypto.subtle as SubtleCrypto | undefined
  if (!subtle) return 'unchecked'
  let imported: CryptoKey
  try {
    imported = await subtle.importKey('raw', key.publicKey, 'Ed25519', false, ['verify'])
  } catch {
    // The browser has no Ed25519.
    return 'unchecked'
  }
  const isValid = await subtle.verify('Ed25519', imported, signature.bytes, utf8(note.text))
  return isValid ? 'signed' : 'wrong'
}

/** Returns true unless the signature of a key under a checkpoint is absent or wrong. */
export const isSignedBy = async (checkpoint: Checkpoint, key: VerifierKey): Promise<boolean> =>
  ['signed', 'unchecked'].includes(await signatureOf(checkpoint, key))
