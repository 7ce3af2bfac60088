import { type EventOf, v1 } from './define.ts'
import { object, truth, word } from './fields.ts'

/** Accepted losses of the service's keys. Stream: keys-main. */
export const keysEvents = {
  LostKeysAccepted: v1(
    object('An operator accepted the loss of keys of this log, so that the service could continue without them.', {
      kid: word('Id of the pepper with which token digests are computed from this event on.', '8 hexadecimal digits'),
      tokens: truth('True if the pepper changed. Tokens issued before this event are invalid.'),
      subjects: truth(
        'True if the keys of subjects are lost. Encrypted fields of earlier events are then unreadable, although no subject was erased.',
      ),
    }),
  ),
}

export type KeysEvent = EventOf<typeof keysEvents>
