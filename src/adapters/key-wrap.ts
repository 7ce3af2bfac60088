import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/**
 * Wraps the key of a subject with the key-encryption key: nonce, AES-256-GCM ciphertext with the subject as associated
 * data, tag.
 */
export const wrap = (kek: Uint8Array, subject: string, key: Uint8Array): Uint8Array => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', kek, nonce).setAAD(Buffer.from(subject))
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()])
}

/**
 * Unwraps the key of a subject. Throws if the key was wrapped for a different subject or by a different key-encryption
 * key.
 */
export const unwrap = (kek: Uint8Array, subject: string, wrapped: Uint8Array): Uint8Array => {
  const decipher = createDecipheriv('aes-256-gcm', kek, wrapped.subarray(0, 12)).setAAD(Buffer.from(subject))
  decipher.setAuthTag(wrapped.subarray(-16))
  try {
    return Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()])
  } catch (cause) {
    throw new Error('the stored keys are encrypted with another main key than the one in the key file', { cause })
  }
}

/** Returns true if the key-encryption key unwraps the key for this subject. */
export const opens = (kek: Uint8Array, subject: string, wrapped: Uint8Array): boolean => {
  try {
    unwrap(kek, subject, wrapped)
    return true
  } catch {
    return false
  }
}
