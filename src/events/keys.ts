import { type EventOf, v1 } from './define.ts'
import { object, truth, word } from './fields.ts'

/** The service's own keys, where the history has to tell of them. Stream: keys-main. */
export const keysEvents = {
  LostKeysAccepted: v1(
    object('Keys that this log was written with are lost, and an operator let the service go on without them.', {
      kid: word('From here on the pepper of token digests has this id.', '8 hexadecimal digits'),
      tokens: truth('True where the pepper is another than before: tokens issued before this event work no more.'),
      subjects: truth(
        'True where the keys of subjects are lost: what was sealed before this event can be read no more, though nobody was erased.',
      ),
    }),
  ),
}

export type KeysEvent = EventOf<typeof keysEvents>
