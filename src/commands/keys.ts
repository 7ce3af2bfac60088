import { type DataOf, reader } from '../events/define.ts'
import { type KeysEvent, keysEvents } from '../events/keys.ts'
import type { Decider } from './decider.ts'

type KeysCommands = { AcceptLostKeys: DataOf<KeysEvent, 'LostKeysAccepted'> }

/** `kid` is the id of the pepper after the last accepted loss of keys; undefined if no loss was accepted. */
type KeysState = { readonly kid: string | undefined }

/** Id of the only stream. */
export const KEYS_ID = 'main'

/** Decider of accepted key losses. Every acceptance is recorded, even if the same loss is accepted again. */
export const keys: Decider<KeysState, KeysCommands, KeysEvent> = {
  category: 'keys',
  shapes: keysEvents,
  read: reader(keysEvents),
  initial: { kid: undefined },
  exists: ({ kid }) => kid !== undefined,
  decide: { AcceptLostKeys: (_, data) => [{ type: 'LostKeysAccepted', data }] },
  evolve: { LostKeysAccepted: (_, { kid }) => ({ kid }) },
}
