import { namespaceEvents } from '../namespace.ts'
import { changedFields, plain, type Summaries } from './sentence.ts'

const namespaceOf = ({ key }: { readonly key: string }) => `namespace ${plain(key)}`

/** Summaries of the events of a namespace. */
export const namespaceSummaries: Summaries<typeof namespaceEvents> = {
  NamespaceCreated: (data) => `${namespaceOf(data)} created`,
  NamespaceUpdated: (data) =>
    `${namespaceOf(data)}: ${changedFields(namespaceEvents.NamespaceUpdated.schema, data)} changed`,
  NamespaceDeleted: (data) => `${namespaceOf(data)} deleted${data.force ? ', forced' : ''}`,
  FlagRegistered: (data) => `${namespaceOf(data)}: flag ${plain(data.flag)} reserved`,
  FlagUnregistered: (data) => `${namespaceOf(data)}: reservation of flag ${plain(data.flag)} released`,
}
