import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { LedgerStore } from './ledger-store.ts'

/** PORT. The private key (Ed25519) that signs checkpoints. */
export type SigningKeys = {
  /** The key of this instance; undefined if it has none. Throws if it is unreadable. */
  readonly read: () => Promise<KeyObject | undefined>
  /** The key. It is created durably if there is none. */
  readonly open: () => Promise<KeyObject>
  /** The key that is to replace it; undefined if there is none. */
  readonly next: () => Promise<KeyObject | undefined>
  /** Stores the next key durably, in place of an earlier one. */
  readonly prepare: (key: KeyObject) => Promise<void>
  /** Makes the next key the key, and destroys the one before. After a crash, a repeated call completes it. */
  readonly promote: () => Promise<void>
}

/** The storage of the ledger with its signing key. */
export type LedgerPorts = { readonly store: LedgerStore; readonly keys: SigningKeys }

/** Creates an Ed25519 key. */
export const newSigningKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey

/** Text of a private key: PKCS#8 PEM. */
export const pemOf = (key: KeyObject): string => String(key.export({ type: 'pkcs8', format: 'pem' }))
