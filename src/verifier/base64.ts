import { HASH_BYTES, type Hash } from './hashes.ts'

/** Returns the bytes of a standard base64 text with padding (RFC 4648 §4); undefined if it is not in canonical form. */
export const bytesOfBase64 = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

/** Returns the standard base64 text with padding of bytes. */
export const base64Of = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')

/** Returns the hash of a canonical base64 text of 32 bytes, else undefined. */
export const hashOfBase64 = (text: string): Hash | undefined => {
  const bytes = bytesOfBase64(text)
  return bytes?.length === HASH_BYTES ? bytes : undefined
}
