import { namespaceEvents } from '../namespace.ts'
import { changedFields, plain, type Summaries } from './sentence.ts'

const NAMESPACE = 'namespace <namespace>'
const namespaceOf = ({ key }: { readonly key: string }) => `namespace ${plain(key)}`

/** Summaries of the events of a namespace. */
export const namespaceSummaries: Summaries<typeof namespaceEvents> = {
  NamespaceCreated: {
    patterns: [`${NAMESPACE} created`],
    of: (data) => `${namespaceOf(data)} created`,
  },
  NamespaceUpdated: {
    patterns: [`${NAMESPACE}: <fields> changed`],
    of: (data) => `${namespaceOf(data)}: ${changedFields(namespaceEvents.NamespaceUpdated.schema, data)} changed`,
  },
  NamespaceDeleted: {
    patterns: [`${NAMESPACE} deleted[, forced]`],
    of: (data) => `${namespaceOf(data)} deleted${data.force ? ', forced' : ''}`,
  },
  FlagRegistered: {
    patterns: [`${NAMESPACE}: flag <key> reserved`],
    of: (data) => `${namespaceOf(data)}: flag ${plain(data.flag)} reserved`,
  },
  FlagUnregistered: {
    patterns: [`${NAMESPACE}: reservation of flag <key> released`],
    of: (data) => `${namespaceOf(data)}: reservation of flag ${plain(data.flag)} released`,
  },
}
