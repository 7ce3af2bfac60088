import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Keys } from '../../events/personal.ts'
import type { Channel } from './channel.ts'

const CACHED = 10_000
/** Stands in the file for the key-encryption key itself: what opens it fits the rest. */
const WITNESS = ''

const wrap = (kek: Uint8Array, subject: string, key: Uint8Array): Uint8Array => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', kek, nonce).setAAD(Buffer.from(subject))
  return Buffer.concat([nonce, cipher.update(key), cipher.final(), cipher.getAuthTag()])
}

const unwrap = (kek: Uint8Array, subject: string, wrapped: Uint8Array): Uint8Array => {
  const decipher = createDecipheriv('aes-256-gcm', kek, wrapped.subarray(0, 12)).setAAD(Buffer.from(subject))
  decipher.setAuthTag(wrapped.subarray(-16))
  try {
    return Buffer.concat([decipher.update(wrapped.subarray(12, -16)), decipher.final()])
  } catch (cause) {
    throw new Error('the key-encryption key is not the one that the keys in the data directory were wrapped with', { cause })
  }
}

/** Keys of subjects in a file of their own, each wrapped by the key-encryption key (AES-256-GCM). Throws when that is another than before. */
export const embeddedKeys = async (channel: Channel, kek: Uint8Array): Promise<Keys> => {
  const cache = new Map<string, Uint8Array | 'erased'>()

  const remember = (subject: string, wrapped: Uint8Array | null): Uint8Array | 'erased' => {
    const known = cache.get(subject)
    if (known === 'erased') return known
    const key = wrapped === null ? 'erased' : unwrap(kek, subject, wrapped)
    const oldest = cache.size >= CACHED ? cache.keys().next().value : undefined
    if (oldest !== undefined) cache.delete(oldest)
    cache.set(subject, key)
    return key
  }
  const make = async (subject: string) =>
    cache.get(subject) ?? remember(subject, await channel.call('makeKey', subject, wrap(kek, subject, randomBytes(32))))

  await make(WITNESS)
  return {
    make,
    find: async (subject) => {
      const known = cache.get(subject)
      if (known !== undefined) return known
      const wrapped = await channel.call('findKey', subject)
      return wrapped === undefined ? undefined : remember(subject, wrapped)
    },
    destroy: async (subject) => {
      await channel.call('destroyKey', subject)
      await channel.call('scrubKeys')
      cache.set(subject, 'erased')
    },
    close: async () => cache.clear(),
  }
}
