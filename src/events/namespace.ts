import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { key, object, text, time, truth, uuid } from './fields.ts'

const namespace = { key: key('The namespace.') }
const incarnation = uuid("This life of the namespace's key.")
const name = text('Its name, for people.')
const description = text('What it is for.')
const flag = key('The flag.')

/** Life of one namespace. Stream: namespace-{key}. An incarnation is one life of the key, from its creation to its deletion. */
export const namespaceEvents = {
  NamespaceCreated: v1(
    object('A namespace was created: the first life of its key, or one after an earlier life was deleted.', {
      ...namespace,
      incarnation,
      name,
      description,
      protected: truth('True for `default`, which cannot be deleted.'),
    }),
  ),
  NamespaceUpdated: v1(
    object('Name or description changed.', { ...namespace, name: change(name), description: change(description) }),
  ),
  NamespaceDeleted: v1(
    object(
      'The namespace was deleted, and everything in it: flags and segments of this incarnation are gone with it, and have no events of their own for that.',
      {
        ...namespace,
        incarnation,
        force: truth('True when it was deleted with whatever flags it had.'),
      },
    ),
  ),
  FlagRegistered: v1(
    object(
      'A flag is about to be created: a reservation, without which it may not be. While it stands, the namespace is not empty (decision 3).',
      {
        ...namespace,
        flag,
        reservation: uuid('The reservation, which `FlagCreated` names.'),
        reservedAt: time('When it was made.'),
      },
    ),
  ),
  FlagUnregistered: v1(
    object('A reservation ends: the flag is gone, or was never created under it.', {
      ...namespace,
      flag,
      reservation: uuid('The reservation that ends.'),
    }),
  ),
}

export type NamespaceEvent = EventOf<typeof namespaceEvents>
