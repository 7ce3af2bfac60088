import { sha256 as digest } from '@noble/hashes/sha2.js'

// The build puts this module in place of src/verifier/platform.ts, because browsers have no synchronous SHA-256.

/** Returns a text in UTF-8. */
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** Returns the SHA-256 of bytes, or of a text in UTF-8. */
export const sha256 = (content: string | Uint8Array): Uint8Array =>
  digest(typeof content === 'string' ? utf8(content) : content)

/** Returns the bytes of a standard base64 text with padding; undefined if it is not in canonical form. */
export const bytesOfBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return base64Of(bytes) === text ? bytes : undefined
  } catch {
    // The text has characters that are not base64.
    return undefined
  }
}

/** Returns the standard base64 text with padding of a few bytes. */
export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))
