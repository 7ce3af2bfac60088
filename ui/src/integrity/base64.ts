/** Returns the bytes of a base64 text with padding; undefined if it is not in canonical form. */
export const bytesOfBase64 = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
    return base64Of(bytes) === text ? bytes : undefined
  } catch {
    // The text has characters that are not base64.
    return undefined
  }
}

/** Returns the base64 text with padding of a few bytes. */
export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** Returns the hexadecimal digits of bytes. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
