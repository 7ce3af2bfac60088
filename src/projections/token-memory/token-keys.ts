import { hash } from 'node:crypto'
import { hashTable } from './hash-table.ts'

const DIGEST_BYTES = 32
const ID_WORDS = 4
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/

/** Converts a latin1 text to 32-bit words. */
const wordsOf = (text: string, into: Uint32Array): Uint32Array => {
  for (let n = 0, at = 0; n < into.length; n++, at += 4)
    into[n] =
      text.charCodeAt(at) |
      (text.charCodeAt(at + 1) << 8) |
      (text.charCodeAt(at + 2) << 16) |
      (text.charCodeAt(at + 3) << 24)
  return into
}
const bytesOf = (word: number): string =>
  String.fromCharCode(word & 255, (word >>> 8) & 255, (word >>> 16) & 255, word >>> 24)

const idWords = (id: string, into: Uint32Array): Uint32Array => {
  const digits = id.replaceAll('-', '')
  for (let n = 0; n < ID_WORDS; n++) into[n] = Number.parseInt(digits.slice(n * 8, n * 8 + 8), 16)
  return into
}

/** Key of a digest: its bytes as latin1. A digest of another length is hashed first. */
export const keyOf = (digest: string): string => {
  const bytes = Buffer.from(digest.slice(digest.indexOf('.') + 1), 'base64url')
  return bytes.length === DIGEST_BYTES ? bytes.toString('latin1') : hash('sha256', bytes, 'binary')
}

/** Returns the 32-bit words of a key. */
export const keyWords = (key: string): Uint32Array => wordsOf(key, new Uint32Array(DIGEST_BYTES / 4))

/** True if the id is a UUID, as all ids of this service are. */
export const hasKey = (id: string): boolean => UUID.test(id)

type KeyCopies = { readonly digests: Uint32Array; readonly ids: Uint32Array }

/** Finds the slots of tokens by the key of their digest and by their id. */
export const tokenKeys = () => {
  const digests = hashTable(DIGEST_BYTES / 4)
  const ids = hashTable(ID_WORDS)
  const [askedDigest, askedId] = [new Uint32Array(DIGEST_BYTES / 4), new Uint32Array(ID_WORDS)]

  return {
    byKey: (key: string): number | undefined => digests.find(wordsOf(key, askedDigest)),
    byId: (id: string): number | undefined => (hasKey(id) ? ids.find(idWords(id, askedId)) : undefined),
    set: (slot: number, key: string, id: string): void => {
      digests.set(slot, wordsOf(key, askedDigest))
      ids.set(slot, idWords(id, askedId))
    },
    remove: (slot: number): void => {
      digests.remove(slot)
      ids.remove(slot)
    },
    key: (slot: number): string => Array.from(digests.key(slot), bytesOf).join(''),
    id: (slot: number): string =>
      Array.from(ids.key(slot), (word) => word.toString(16).padStart(8, '0'))
        .join('')
        .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
    size: digests.size,
    /** Copies the keys of the first slots. */
    copy: (slots: number) => ({ digests: digests.copy(slots), ids: ids.copy(slots) }),
    /** Sets the keys of a slot from a copy. */
    restore: (slot: number, from: KeyCopies): void => {
      digests.set(slot, from.digests.subarray((slot * DIGEST_BYTES) / 4, ((slot + 1) * DIGEST_BYTES) / 4))
      ids.set(slot, from.ids.subarray(slot * ID_WORDS, (slot + 1) * ID_WORDS))
    },
  }
}
