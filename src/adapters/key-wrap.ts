import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { UNUSABLE_KEY } from '../events/personal.ts'

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
 * Unwraps the key of a subject. Throws the error `UNUSABLE_KEY` if the key was wrapped for a different subject or by a
 * different key-encryption key, or is damaged.
 */
export const unwrap = (kek: Uint8Array, subject: string, wrapped: Uint8Array): Uint8Array => {
  try {
    const decipher = createDecipheriv('aes-256-gcm', kek, wrapped.subarray(0, 12)).setAAD(Buffer.from(subject))
    decipher.setAuthTag(wrapped.subarray(-16))
    return Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()])
  } catch (cause) {
    const message = 'the stored keys are encrypted with another main key than the one in the key file'
    throw Object.assign(new Error(message, { cause }), { name: UNUSABLE_KEY })
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
