import { EVERY, holds, placesOf, useAccess } from '../../api/access.ts'
import type { EventFilter } from '../../api/event-filters.ts'
import { lastNamespace } from '../../preferences.ts'

/**
 * Limits a filter to what the user may read. `namespace` is the only one of the answer if the user has `history.read`
 * without `audit.read`.
 */
export const useHistoryReach = (
  filter: EventFilter,
): { readonly filter: EventFilter; readonly namespace: string | undefined } => {
  const { access } = useAccess()
  if (!access || holds(access, { right: 'audit.read', namespaceKey: EVERY })) return { filter, namespace: undefined }
  const places = placesOf(access, 'history.read')
  const [first] = places
  if (first === undefined) return { filter, namespace: undefined }
  const asked = filter.namespaceKey
  const isOne = asked !== undefined && !/[,\\!]/.test(asked)
  const wanted = isOne ? asked : lastNamespace()
  const namespace = first === EVERY || (isOne && asked !== undefined) || places.includes(wanted) ? wanted : first
  return { filter: { ...filter, namespaceKey: namespace }, namespace }
}
