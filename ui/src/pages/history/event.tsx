import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useAccess } from '../../api/access.ts'
import { isFailure } from '../../api/failure.ts'
import { keys } from '../../api/keys.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { LoadFailed, Loading } from '../../parts/lists/states.tsx'
import { PageHead } from '../../parts/page.tsx'
import { EventDetail } from '../../parts/timeline/event-detail.tsx'
import { states } from '../../words/common.ts'
import { history as words } from '../../words/history.ts'
import { useReadEvent } from './read-event.ts'

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
  if (data)
    return (
      <>
        <PageHead heading={<Safe text={data.summary} />} title={[data.summary, words.heading]} />
        <EventDetail event={data} />
      </>
    )
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
