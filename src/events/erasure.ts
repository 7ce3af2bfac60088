import { type EventOf, v1 } from './define.ts'
import { list, object, pseudonym, text, word } from './fields.ts'

const subject = (description: string) => pseudonym(description, '`person-…`, `token-<id>` or `network-<YYYY-MM-DD>`')
const keys = (description: string) =>
  list(description, word('Subject of a key.', '`person-…`, `token-<id>` or `network-<YYYY-MM-DD>`'))

/** Erasure of the personal data of a subject. Stream: keys-{subject}. */
export const erasureEvents = {
  SubjectErasureRequested: v1(
    object(
      'The erasure of the personal data of a subject was requested. The service destroys the keys after this event, and a job of the service finishes an interrupted erasure.',
      {
        subject: subject('The subject to erase.'),
        keys: keys('Keys to destroy: the key of the subject and, for a person, the keys of the tokens of the person.'),
        reason: text('Reason for the erasure.'),
      },
    ),
  ),
  SubjectErased: v1(
    object(
      'The keys of a subject were destroyed, so the personal data in earlier events cannot be decrypted any more.',
      {
        subject: subject('The erased subject.'),
        keys: keys('The destroyed keys.'),
      },
    ),
  ),
}

export type ErasureEvent = EventOf<typeof erasureEvents>

/**
 * Progress of the erasure of a subject: all keys that were requested to be destroyed, and those that may still exist.
 * `left` is undefined if the erasure is complete.
 */
export type ErasureProgress = { readonly keys: readonly string[]; readonly left: readonly string[] | undefined }

/** Progress after a request to destroy keys. */
export const requested = (before: ErasureProgress | undefined, keys: readonly string[]): ErasureProgress => ({
  keys: [...new Set([...(before?.keys ?? []), ...keys])],
  left: [...new Set([...(before?.left ?? []), ...keys])],
})

/** Progress after the destruction of keys. */
export const destroyed = (before: ErasureProgress | undefined, keys: readonly string[]): ErasureProgress => {
  const gone = new Set(keys)
  const left = (before?.left ?? []).filter((key) => !gone.has(key))
  return { keys: [...new Set([...(before?.keys ?? []), ...keys])], left: left.length === 0 ? undefined : left }
}
