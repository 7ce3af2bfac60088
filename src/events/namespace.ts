import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { key, object, text, time, truth, uuid } from './fields.ts'

const namespace = { key: key('Key of the namespace.') }
const incarnation = uuid("The incarnation of the namespace's key.")
const name = text('Name of the namespace for people, such as in the web UI.')
const description = text('Description of the purpose.')
const flag = key('Key of the flag.')

/**
 * Lifecycle of a namespace. Stream: namespace-{key}. An incarnation is the time from the creation to the deletion of
 * the key.
 */
export const namespaceEvents = {
  NamespaceCreated: v1(
    object('A namespace was created. An earlier, deleted namespace may have had the same key.', {
      ...namespace,
      incarnation,
      name,
      description,
      protected: truth('True for `default`, which cannot be deleted.'),
    }),
  ),
  NamespaceUpdated: v1(
    object('The name or description of the namespace changed.', {
      ...namespace,
      name: change(name),
      description: change(description),
    }),
  ),
  NamespaceDeleted: v1(
    object(
      'The namespace was deleted with all flags and segments of this incarnation. These flags and segments have no deletion events of their own.',
      {
        ...namespace,
        incarnation,
        force: truth('True if the namespace was deleted although it may have contained flags.'),
      },
    ),
  ),
  FlagRegistered: v1(
    object(
      'A reservation was made for a flag that is about to be created. A flag needs a reservation. While the reservation exists, the namespace counts as not empty (decision 3).',
      {
        ...namespace,
        flag,
        reservation: uuid('Id of the reservation, which `FlagCreated` refers to.'),
        reservedAt: time('Time of the reservation.'),
      },
    ),
  ),
  FlagUnregistered: v1(
    object('A reservation was released, because the flag was deleted or never created.', {
      ...namespace,
      flag,
      reservation: uuid('Id of the released reservation.'),
    }),
  ),
}

export type NamespaceEvent = EventOf<typeof namespaceEvents>
