import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

/** PORT. Keys of subjects, kept apart from the events. A destroyed key never comes back, under no circumstances. */
export type Keys = {
  /** The subject's key (32 bytes), made durably when there is none yet, as `given` where one is moved here; 'erased' when it was destroyed. */
  readonly make: (subject: string, given?: Uint8Array) => Promise<Uint8Array | 'erased'>
  /** The subject's key, 'erased' when it was destroyed, undefined when there never was one. */
  readonly find: (subject: string) => Promise<Uint8Array | 'erased' | undefined>
  readonly destroy: (subject: string) => Promise<void>
  readonly close: () => Promise<void>
}

/** What a sealed text comes to: `erased` where its subject's key was destroyed, `lost` where the key is missing though nobody destroyed it. */
export type Opened = { readonly text: string } | { readonly erased: true } | { readonly lost: true }
export type Sealer = {
  /** The sealed form of a text under its subject's key; text sealed for an erased subject can never be opened. */
  readonly seal: (subject: string, text: string) => Promise<string>
  /** The text of a sealed form, or that it is erased or lost. A text that is not sealed is itself. */
  readonly open: (sealed: string) => Promise<Opened>
}

const PREFIX = 'sealed.1'
const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

/**
 * AES-256-GCM under a key of the subject (design.md §5). Form: `sealed.1.<subject>.<nonce+text+tag>`, the latter two in base64url.
 * `onLost` is told of each subject whose key is not there, or is another than the text was sealed with: made anew since the first was lost.
 */
export const sealer = (keys: Keys, onLost: (subject: string) => void = () => {}): Sealer => ({
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
    const key = await keys.find(subject)
    if (key === 'erased') return { erased: true }
    const text = key && openedWith(key, subject, payload)
    if (text !== undefined) return { text }
    onLost(subject)
    return { lost: true }
  },
})

/** The text, or undefined when it was sealed under another key. */
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

/** True for the sealed form of a personal text. */
const isSealed = (text: string): boolean => text.startsWith(`${PREFIX}.`)
