import { type DataOf, reader } from '../events/define.ts'
import { type KeysEvent, keysEvents } from '../events/keys.ts'
import type { Decider } from './decider.ts'

type KeysCommands = { AcceptLostKeys: DataOf<KeysEvent, 'LostKeysAccepted'> }

/** `kid`: pepper in use after the last accepted loss of keys; undefined before the first. */
type KeysState = { readonly kid: string | undefined }

/** Id of the only stream. */
export const KEYS_ID = 'main'

/** Decider of accepted key losses. Every acceptance is recorded, even a repeated one for the same keys. */
export const keys: Decider<KeysState, KeysCommands, KeysEvent> = {
  category: 'keys',
  shapes: keysEvents,
  read: reader(keysEvents),
  initial: { kid: undefined },
  exists: ({ kid }) => kid !== undefined,
  decide: { AcceptLostKeys: (_, data) => [{ type: 'LostKeysAccepted', data }] },
  evolve: { LostKeysAccepted: (_, { kid }) => ({ kid }) },
}
