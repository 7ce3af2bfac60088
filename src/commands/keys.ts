import { type DataOf, reader } from '../events/define.ts'
import { type KeysEvent, keysEvents } from '../events/keys.ts'
import type { Decider } from './decider.ts'

export type KeysCommands = { AcceptLostKeys: DataOf<KeysEvent, 'LostKeysAccepted'> }

/** `kid` is that of the pepper which the log went on with when keys were lost; undefined while none ever were. */
export type KeysState = { readonly kid: string | undefined }

/** The one stream that tells of a log's keys. */
export const KEYS_ID = 'main'

/** Each loss that is accepted is told, also a second one of the same keys. */
export const keys: Decider<KeysState, KeysCommands, KeysEvent> = {
  category: 'keys',
  shapes: keysEvents,
  read: reader(keysEvents),
  initial: { kid: undefined },
  exists: ({ kid }) => kid !== undefined,
  decide: { AcceptLostKeys: (_, data) => [{ type: 'LostKeysAccepted', data }] },
  evolve: { LostKeysAccepted: (_, { kid }) => ({ kid }) },
}
