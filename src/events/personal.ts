import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** Name of the error for a stored key of a subject that the main key does not decrypt. */
export const UNUSABLE_KEY = 'UnusableKey'

/** PORT. Keys of subjects, stored separately from the events. A destroyed key can never be restored. */
export type Keys = {
  /**
   * Returns the key of a subject (32 bytes), or 'erased' if the key was destroyed. If no key exists, creates it
   * durably; in a migration with the value `given`.
   */
  readonly make: (subject: string, given?: Uint8Array) => Promise<Uint8Array | 'erased'>
  /**
   * Returns the key of a subject; 'erased' if the key was destroyed, undefined if no key was ever created. Rejects with
   * the error `UNUSABLE_KEY` for a stored key that cannot be decrypted.
   */
  readonly find: (subject: string) => Promise<Uint8Array | 'erased' | undefined>
  /**
   * Destroys the keys of subjects, also those that were put aside after a loss (decision 21), and leaves a tombstone for
   * each subject. When the promise resolves, the files of the store contain none of the keys.
   */
  readonly destroy: (...subjects: readonly string[]) => Promise<void>
  /** State of these subjects in the store: `kept` if there is a key, also one put aside; `erased` if only a tombstone. */
  readonly states: (subjects: readonly string[]) => Promise<ReadonlyMap<string, 'kept' | 'erased'>>
  /** At most `most` subjects with a key, from `from` to before `below`, in order. */
  readonly between: (from: string, below: string, most: number) => Promise<readonly string[]>
  /** Removes the keys of erased subjects from the cache of this process. From then on these subjects are erased here. */
  readonly forget: (subjects: readonly string[]) => Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Result of decrypting a text. `erased`: the key is gone by an erasure in the log. `lost`: the key is missing, unusable
 * or destroyed without an erasure in the log.
 */
type Opened = { readonly text: string } | { readonly erased: true } | { readonly lost: true }
export type Sealer = {
  /** Seals a text with its subject's key. A text sealed for an erased subject can never be opened. */
  readonly seal: (subject: string, text: string) => Promise<string>
  /** Decrypts an encrypted text. A text that is not sealed is returned unchanged. */
  readonly open: (sealed: string) => Promise<Opened>
}

const PREFIX = 'sealed.1'
const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/**
 * AES-256-GCM with a key per subject (design.md §5). Form: `sealed.1.<subject>.<nonce+text+tag>`, the last two parts in
 * base64url. `isErased` returns whether the log has an erasure of the subject; without it no text is shown as erased.
 * `onLost` receives each subject without an erasure whose key does not open the text.
 */
export const sealer = (
  keys: Pick<Keys, 'make' | 'find'>,
  isErased: (subject: string) => Promise<boolean> = async () => false,
  onLost: (subject: string) => void = () => {},
): Sealer => ({
  seal: async (subject, text) => {
    const made = await keys.make(subject)
    const key = made === 'erased' ? randomBytes(32) : made
    const nonce = randomBytes(12)
    const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(subject))
    const body = Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `${PREFIX}.${b64(Buffer.from(subject))}.${b64(body)}`
  },
  open: async (sealed) => {
    if (!isSealed(sealed)) return { text: sealed }
    const [, , encoded = '', payload = ''] = sealed.split('.')
    const subject = Buffer.from(encoded, 'base64url').toString()
    const key = await keys.find(subject).catch(unlessUnusable)
    const text = key instanceof Uint8Array ? openedWith(key, subject, payload) : undefined
    if (text !== undefined) return { text }
    // The log decides, because a tombstone without an erasure is damage of the key store.
    if (await isErased(subject)) return { erased: true }
    onLost(subject)
    return { lost: true }
  },
})

const unlessUnusable = (error: unknown): undefined => {
  if (!(error instanceof Error && error.name === UNUSABLE_KEY)) throw error
}

/** Decrypts the text; undefined if it was sealed with another key. */
const openedWith = (key: Uint8Array, subject: string, payload: string): string | undefined => {
  const body = Buffer.from(payload, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, 12)).setAAD(Buffer.from(subject))
    decipher.setAuthTag(body.subarray(-16))
    return Buffer.concat([decipher.update(body.subarray(12, -16)), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

/** Returns true for the sealed form of a text. */
const isSealed = (text: string): boolean => text.startsWith(`${PREFIX}.`)
