import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import type { Projection } from './projection.ts'

export type NamespaceDoc = {
  readonly key: string
  readonly incarnation: string
  readonly name: string
  readonly description: string
  readonly protected: boolean
  readonly createdAt: string
  readonly updatedAt: string
}

/** The namespaces there are. */
export const namespaces: Projection<NamespaceDoc, NamespaceEvent> = {
  name: 'namespaces',
  version: 1,
  indexes: ['createdAt'],
  category: 'namespace',
  read: reader(namespaceEvents),
  quiet: new Set(['FlagRegistered', 'FlagUnregistered']),
  on: {
    NamespaceCreated: (_, data, { time }) => ({ ...data, createdAt: time, updatedAt: time }),
    NamespaceUpdated: (doc, { name, description }, { time }) =>
      doc && { ...doc, name: name?.to ?? doc.name, description: description?.to ?? doc.description, updatedAt: time },
    NamespaceDeleted: () => undefined,
    FlagRegistered: (doc) => doc,
    FlagUnregistered: (doc) => doc,
  },
}
