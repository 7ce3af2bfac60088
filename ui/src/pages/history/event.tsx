import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useAccess } from '../../api/access.ts'
import { Failure, isFailure } from '../../api/failure.ts'
import { type HistoryEvent, readEvent, readEvents } from '../../api/history.ts'
import { keys } from '../../api/keys.ts'
import { isPosition } from '../../at.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { inZone } from '../../parts/moment.ts'
import { PageHead } from '../../parts/page.tsx'
import { EventDetail } from '../../parts/timeline/event-detail.tsx'
import { usePreferences } from '../../preferences.ts'
import { states } from '../../words/common.ts'
import { history as words } from '../../words/history.ts'
import { useHistoryReach } from './reach.ts'

/**
 * Returns a function that reads the event at a position. Without `audit.read` it finds the event in the history of the
 * namespace that the user may read.
 */
const useReadEvent = (position: string): ((signal: AbortSignal) => Promise<HistoryEvent>) => {
  const { namespace } = useHistoryReach({})
  return async (signal) => {
    if (namespace === undefined || !isPosition(position)) return readEvent(position, false, signal)
    const at = BigInt(position)
    const around = { namespaceKey: namespace, before: String(at + 1n), ...(at > 0n && { after: String(at - 1n) }) }
    const [event] = (await readEvents(around, undefined, signal, 1)).events
    if (event) return event
    throw new Failure('not found', { status: 404, reason: 'not_found' })
  }
}

const here = getRouteApi('/inside/history/$position')

/** Page of one event (ui.md §11.8). */
export const EventPage = () => {
  const { position } = here.useParams()
  const read = useReadEvent(position)
  const { data, error, refetch } = useQuery({
    queryKey: [...keys.history, 'event', position],
    queryFn: ({ signal }) => read(signal),
    enabled: useAccess().settled,
  })
  const { zone } = usePreferences()
  if (data) {
    const summary = inZone(data.summary, zone)
    return (
      <>
        <PageHead heading={<Safe text={summary} />} title={[summary, words.heading]} />
        <EventDetail event={data} />
      </>
    )
  }
  const isMissing = isFailure(error) && (error.status === 404 || error.status === 400)
  const heading = isMissing ? states.notFound(words.noEvent) : words.noEvent
  return (
    <>
      <PageHead heading={heading} title={[heading, words.heading]} />
      {isMissing && (
        <div className="stack">
          <p>
            <Safe text={words.notThere(position)} />
          </p>
          <p>
            <Link to="/history">{words.toHistory}</Link>
          </p>
        </div>
      )}
      {error && !isMissing && <LoadFailed things={words.event} error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Loading />}
    </>
  )
}
