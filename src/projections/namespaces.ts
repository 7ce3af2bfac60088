import { reader } from '../events/define.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import { type LastChange, stamped } from './last-change.ts'
import type { Projection } from './projection.ts'
import { createdBy, type Times, updated } from './times.ts'

/** A namespace. `order` is the sort key of lists. */
export type NamespaceDoc = Times &
  LastChange & {
    readonly key: string
    readonly incarnation: string
    readonly name: string
    readonly description: string
    readonly protected: boolean
    readonly order: string
  }

const quiet: ReadonlySet<NamespaceEvent['type']> = new Set(['FlagRegistered', 'FlagUnregistered'])

/** Read model of the namespaces. */
export const namespaces: Projection<NamespaceDoc, NamespaceEvent> = {
  name: 'namespaces',
  version: 5,
  fields: [],
  indexes: [],
  category: 'namespace',
  read: reader(namespaceEvents),
  quiet,
  on: stamped<NamespaceDoc, NamespaceEvent>(quiet, {
    NamespaceCreated: (_, data, at) => ({ ...data, ...createdBy(at) }),
    NamespaceUpdated: (doc, update, { time }) => doc && updated(doc, update, time),
    NamespaceDeleted: () => undefined,
    FlagRegistered: (doc) => doc,
    FlagUnregistered: (doc) => doc,
  }),
}
