import type { KeyObject } from 'node:crypto'
import { newSigningKey, type SigningKeys } from '../../src/ledger/ledger-store.ts'

/** Signing keys in memory, as a store keeps them. */
export type StoredKeys = { key: KeyObject | undefined; next: KeyObject | undefined }

/** Operations on signing keys in memory. `interrupt` runs before and after each call, with its name. */
export const memoryKeys = (stored: StoredKeys, interrupt: (moment: string) => void = () => undefined): SigningKeys => {
  const call = async <T>(name: string, work: () => T): Promise<T> => {
    interrupt(`before ${name}`)
    const value = work()
    interrupt(`after ${name}`)
    return value
  }
  return {
    read: () => call('read', () => stored.key),
    open: () => call('open', () => (stored.key ??= newSigningKey())),
    next: () => call('next', () => stored.next),
    prepare: (key) => call('prepare', () => void (stored.next = key)),
    promote: async () => {
      if (!stored.next) return
      await call('promote', () => (stored.key = stored.next))
      await call('remove next', () => (stored.next = undefined))
    },
  }
}
