import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Binding } from '../../events/binding.ts'
import type { Keys } from '../../events/personal.ts'
import { opens, unwrap, wrap } from '../key-wrap.ts'
import type { Channel } from './writer/channel.ts'

const CACHED = 10_000
/**
 * Name of the row that checks a key-encryption key; it belongs to no person. If a key-encryption key can decrypt this
 * row, it can decrypt all keys in the table.
 */
export const WITNESS = ''

/**
 * Keys of subjects in a file of their own, each wrapped by the key-encryption key (AES-256-GCM). Throws if the stored
 * keys were wrapped by a different key-encryption key. If an operator `accepted` the loss, the keys that it cannot
 * unwrap are moved to `lost_subjects`; erased subjects stay erased.
 */
export const embeddedKeys = async (channel: Channel, kek: Uint8Array, accepted = false): Promise<Keys> => {
  const cache = new LRUCache<string, Uint8Array | 'erased'>({ max: CACHED })

  const remember = (subject: string, wrapped: Uint8Array | null): Uint8Array | 'erased' => {
    const known = cache.get(subject)
    if (known === 'erased') return known
    const key = wrapped === null ? 'erased' : unwrap(kek, subject, wrapped)
    cache.set(subject, key)
    return key
  }
  const make = async (subject: string, given?: Uint8Array) =>
    cache.get(subject) ??
    remember(subject, await channel.call('makeKey', subject, wrap(kek, subject, given ?? randomBytes(32))))

  if (accepted) {
    const witness = await channel.call('findKey', WITNESS)
    if (!witness || !opens(kek, WITNESS, witness)) await channel.call('putKeysAside')
  }
  await make(WITNESS)
  return {
    make,
    find: async (subject) => {
      const known = cache.get(subject)
      if (known !== undefined) return known
      const wrapped = await channel.call('findKey', subject)
      return wrapped === undefined ? undefined : remember(subject, wrapped)
    },
    destroy: async (...subjects) => {
      await channel.call('destroyKeys', subjects)
      await channel.call('scrubKeys')
      for (const subject of subjects) cache.set(subject, 'erased')
    },
    states: async (subjects) => new Map(await channel.call('keyStates', subjects)),
    between: (from, below, most) => channel.call('keysBetween', from, below, most),
    forget: async (subjects) => {
      for (const subject of subjects) cache.set(subject, 'erased')
    },
    close: async () => cache.clear(),
  }
}

/** Binding of the keys to a log, stored in the key database. */
export const embeddedBinding = (channel: Pick<Channel, 'call'>): Binding => ({
  read: async () => {
    const found = await channel.call('readBinding')
    return found && { event: found[0], position: BigInt(found[1]) }
  },
  write: async ({ event, position }) => {
    const [stands, at] = await channel.call('writeBinding', event, Number(position))
    return { event: stands, position: BigInt(at) }
  },
})
