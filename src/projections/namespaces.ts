import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import { createdBy, type ResourceDoc, resourceModel, updated } from './resource-model.ts'

export type NamespaceDoc = ResourceDoc & { readonly protected: boolean }

/** Read model of the namespaces. */
export const namespaces = resourceModel<NamespaceDoc, NamespaceEvent>({
  name: 'namespaces',
  version: 5,
  category: 'namespace',
  read: reader(namespaceEvents),
  quiet: new Set(['FlagRegistered', 'FlagUnregistered']),
  on: {
    NamespaceCreated: (_, data, at) => ({ ...data, ...createdBy(at) }),
    NamespaceUpdated: (doc, update, { time }) => doc && updated(doc, update, time),
    NamespaceDeleted: () => undefined,
    FlagRegistered: (doc) => doc,
    FlagUnregistered: (doc) => doc,
  },
})
