import { useSearch } from '@tanstack/react-router'
import type { EventFilter } from '../../api/event-filters.ts'
import { useMissingHistory } from './missing-right.ts'
import { Timeline } from './timeline.tsx'

/** History of one resource on its page; without the right to read it, the name of that right. */
export const OwnTimeline = ({ filter }: { readonly filter: EventFilter }) => {
  const search = useSearch({ strict: false })
  const missing = useMissingHistory(filter.namespaceKey)
  return missing === undefined ? <Timeline filter={filter} search={search} /> : <p className="muted">{missing}</p>
}
