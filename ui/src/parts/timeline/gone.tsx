import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { EventFilter } from '../../api/event-filters.ts'
import { type HistoryEvent, readEvents } from '../../api/history.ts'
import { keys } from '../../api/keys.ts'
import { useAt } from '../../at.ts'
import { usePreferences } from '../../preferences.ts'
import { goneWords as words } from '../../words/history.ts'
import { Safe } from '../feedback/safe.tsx'
import { distanceWords, instantWords } from '../moment.ts'
import { actorOf } from './event-actor.ts'
import { positionBefore, toSubjectOf } from './event-links.ts'
import { useMissingHistory } from './missing-right.ts'
import { upTo } from './up-to.ts'

/** Deletion of a resource, and the last event of the resource itself, which differs for one that ended with its namespace. */
type Ended = { readonly event: HistoryEvent; readonly last: HistoryEvent } | null

/** Returns the end of a resource; null if the history has none. */
const endOf = async (
  filter: EventFilter,
  types: string,
  at: string | undefined,
  signal: AbortSignal,
): Promise<Ended> => {
  const { namespaceKey } = filter
  const own = namespaceKey === undefined ? { ...filter, type: types } : filter
  const last = (await readEvents(upTo(own, at), undefined, signal, 1)).events[0]
  if (!last || namespaceKey === undefined || last.type === types) return last ? { event: last, last } : null
  const later = { namespaceKey, type: 'NamespaceDeleted', afterIndex: String(last.index) }
  const event = (await readEvents(upTo(later, at), undefined, signal)).events.at(-1)
  return event ? { event, last } : null
}

/**
 * Deletion of a resource: its time and author, and links to the resource before it and to its history. Empty without a
 * deletion, or without the right to read it.
 */
export const Gone = ({
  filter,
  types,
}: {
  readonly filter: EventFilter
  /** Types of the events that delete the resource. */
  readonly types: string
}) => {
  const at = useAt()
  const { zone, exactTimes } = usePreferences()
  const { data } = useQuery({
    queryKey: [...keys.history, 'gone', filter, types, at],
    queryFn: ({ signal }) => endOf(filter, types, at, signal),
    enabled: useMissingHistory(filter.namespaceKey) === undefined,
  })
  if (!data) return null
  const { event, last } = data
  const distance = exactTimes || at !== undefined ? undefined : distanceWords(event.time)
  return (
    <>
      <p>
        <Safe text={words.deleted(distance ?? instantWords(event.time, zone), actorOf(event))} />
      </p>
      <p className="bar">
        <Link {...toSubjectOf(last)} search={{ at: positionBefore(event) }}>
          {words.asOf}
        </Link>
        <Link to="/history" search={filter as object}>
          {words.history}
        </Link>
      </p>
    </>
  )
}
