import { Type } from 'typebox'
import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'

/** Life of one namespace. Stream: namespace-{key}. An incarnation is one life of the key, from its creation to its deletion. */
export const namespaceEvents = {
  NamespaceCreated: v1(
    Type.Object({
      key: Type.String(),
      incarnation: Type.String(),
      name: Type.String(),
      description: Type.String(),
      protected: Type.Boolean(),
    }),
  ),
  NamespaceUpdated: v1(
    Type.Object({ key: Type.String(), name: change(Type.String()), description: change(Type.String()) }),
  ),
  /** Ends everything in the namespace: flags and segments of this incarnation are gone with it. */
  NamespaceDeleted: v1(Type.Object({ key: Type.String(), incarnation: Type.String(), force: Type.Boolean() })),
  /** A reservation of a flag that is about to be created; while it stands, the namespace is not empty (docs/decisions/0003). */
  FlagRegistered: v1(
    Type.Object({ key: Type.String(), flag: Type.String(), reservation: Type.String(), reservedAt: Type.String() }),
  ),
  FlagUnregistered: v1(Type.Object({ key: Type.String(), flag: Type.String(), reservation: Type.String() })),
}

export type NamespaceEvent = EventOf<typeof namespaceEvents>
