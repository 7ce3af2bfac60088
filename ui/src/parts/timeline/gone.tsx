import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { EventFilter } from '../../api/event-filters.ts'
import { readEvents } from '../../api/history.ts'
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
  const asked = upTo({ ...filter, type: types }, at)
  const { data } = useQuery({
    queryKey: [...keys.history, 'gone', asked],
    queryFn: ({ signal }) => readEvents(asked, undefined, signal, 1),
    enabled: useMissingHistory(filter.namespaceKey) === undefined,
  })
  const event = data?.events[0]
  if (!event) return null
  const distance = exactTimes || at !== undefined ? undefined : distanceWords(event.time)
  return (
    <>
      <p>
        <Safe text={words.deleted(distance ?? instantWords(event.time, zone), actorOf(event))} />
      </p>
      <p className="bar">
        <Link {...toSubjectOf(event)} search={{ at: positionBefore(event) }}>
          {words.asOf}
        </Link>
        <Link to="/history" search={filter as object}>
          {words.history}
        </Link>
      </p>
    </>
  )
}
