import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import { changed } from '../events/change.ts'
import { type Projection, orderOf } from './projection.ts'

/** One namespace. `order` is the place in lists. */
export type NamespaceDoc = {
  readonly key: string
  readonly incarnation: string
  readonly name: string
  readonly description: string
  readonly protected: boolean
  readonly order: string
  readonly createdAt: string
  readonly updatedAt: string
}

/** The namespaces there are. */
export const namespaces: Projection<NamespaceDoc, NamespaceEvent> = {
  name: 'namespaces',
  version: 3,
  fields: [],
  indexes: [],
  category: 'namespace',
  read: reader(namespaceEvents),
  quiet: new Set(['FlagRegistered', 'FlagUnregistered']),
  on: {
    NamespaceCreated: (_, data, at) => ({ ...data, order: orderOf(at), createdAt: at.time, updatedAt: at.time }),
    NamespaceUpdated: (doc, update, { time }) => doc && { ...changed<NamespaceDoc>(doc, update), updatedAt: time },
    NamespaceDeleted: () => undefined,
    FlagRegistered: (doc) => doc,
    FlagUnregistered: (doc) => doc,
  },
}
