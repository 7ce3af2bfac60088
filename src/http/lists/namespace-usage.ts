import type { ListedNamespace } from '../../contract/resource.ts'
import type { NamespaceDoc } from '../../projections/resource-model.ts'
import { lastChanges } from '../present/last-change.ts'
import { namespaceJson } from '../present/namespace.ts'
import type { FlagService } from '../services/flags.ts'
import { snapshotHours } from './last-evaluation.ts'
import type { Looked } from './list-page.ts'

/**
 * A namespace with its last change, its numbers of flags and segments, and the hour in which its snapshot was last
 * fetched. `prepare` reads the hours of the next namespaces.
 */
export const namespaceUsage = (service: FlagService) => {
  const lastChange = lastChanges(service)
  let hourOf: (doc: NamespaceDoc) => string | undefined = () => undefined
  const prepare = async (view: Looked, docs: readonly NamespaceDoc[]): Promise<void> => {
    hourOf = await snapshotHours(service, view, docs)
  }
  const show =
    (view: Looked) =>
    async (doc: NamespaceDoc): Promise<ListedNamespace> => {
      const { flags, segments } =
        'tally' in view
          ? view.tally(doc.key)
          : { flags: (await view.flags(doc.key)).length, segments: (await view.segments(doc.key)).length }
      const snapshotFetchedAt = hourOf(doc)
      return {
        ...namespaceJson(doc),
        ...(await lastChange(doc)),
        flagCount: flags,
        segmentCount: segments,
        ...(snapshotFetchedAt !== undefined && { snapshotFetchedAt }),
      }
    }
  return { prepare, show }
}
