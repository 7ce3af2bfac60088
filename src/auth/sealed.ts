import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Encrypts values that a browser stores for the service: AES-256-GCM under a key derived from the pepper for one
 * purpose. Every instance of the deployment can open them.
 */
export const sealedBy = <T extends { readonly expiresAt: string }>(pepper: Uint8Array, purpose: string) => {
  const key = Buffer.from(hkdfSync('sha256', pepper, '', purpose, 32))
  return {
    seal: (content: T): string => {
      const nonce = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const body = [nonce, cipher.update(JSON.stringify(content), 'utf8'), cipher.final(), cipher.getAuthTag()]
      return Buffer.concat(body).toString('base64url')
    },
    /** Returns the content, or undefined for a text that this deployment did not encrypt for this purpose. */
    open: (text: string): T | undefined => {
      const body = Buffer.from(text, 'base64url')
      if (body.length < 29) return undefined
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, 12))
      decipher.setAuthTag(body.subarray(-16))
      try {
        const content = JSON.parse(
          Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]).toString(),
        ) as T
        // An earlier version encrypted values without `expiresAt`.
        return 'expiresAt' in content ? content : undefined
      } catch {
        return undefined
      }
    },
  }
}
