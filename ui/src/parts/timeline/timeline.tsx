import { Link, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { isFailure } from '../../api/failure.ts'
import { useAt } from '../../at.ts'
import { states } from '../../words/common.ts'
import { history as words } from '../../words/history.ts'
import { Button } from '../button.tsx'
import { Pager } from '../lists/pager.tsx'
import { useListAddress } from '../lists/paging.ts'
import { Empty, LoadFailed, Loading, StillLoading } from '../lists/states.tsx'
import { EventList } from './event-list.tsx'
import { QUIET_EVENTS } from './folding.ts'
import { upTo } from './up-to.ts'
import { useEvents } from './use-events.ts'

/** Alert of a list of events that was not read, with a way on. */
const EventsFailed = ({
  error,
  onNewest,
  onRetry,
}: {
  readonly error: unknown
  readonly onNewest: () => void
  readonly onRetry: () => void
}) => {
  const reason = isFailure(error) ? error.reason : ''
  if (reason !== 'invalid_page_token' && reason !== 'view_behind')
    return <LoadFailed things={words.things} error={error} onRetry={onRetry} />
  const isBehind = reason === 'view_behind'
  return (
    <div role="alert" className="alert warn">
      <p>{isBehind ? words.behind : words.otherPage}</p>
      <div>
        <Button onClick={isBehind ? onRetry : onNewest}>{isBehind ? words.refresh : words.newest}</Button>
      </div>
    </div>
  )
}

/** Parameters of the address that a timeline reads and sets. */
type TimelineSearch = { readonly open?: string | undefined; readonly page?: string | undefined }

/**
 * Events of a filter up to the moment of the page, newest first, one page at a time. `search` are all parameters of the
 * address: its page, and the position of the open event.
 */
export const Timeline = ({
  filter: asked,
  search,
  live = false,
  onRefused,
  nothing,
  children,
}: {
  readonly filter: EventFilter
  readonly search: TimelineSearch & Readonly<Record<string, string | undefined>>
  readonly live?: boolean
  /** Whether the page shows this failure itself, at the field that caused it. */
  readonly onRefused?: (error: unknown) => boolean
  /** Ways on from an empty list. */
  readonly nothing?: ReactNode
  /** Content above the list. */
  readonly children?: ReactNode
}) => {
  const at = useAt()
  const filter = upTo(asked, at)
  const { open, page } = search
  const navigate = useNavigate()
  const address = useListAddress(search)
  const read = useEvents(filter, page, live)
  const { events, error, isOld } = read
  const onOpen = (position: string | undefined) =>
    void navigate({
      to: '.',
      search: (before: Readonly<Record<string, string | undefined>>) => ({ ...before, open: position }) as never,
      state: (before) => before,
      replace: true,
      resetScroll: false,
    })
  const isShownElsewhere = error !== null && onRefused?.(error) === true
  return (
    <div className="stack">
      {children}
      {error !== null && !isShownElsewhere && (
        <EventsFailed error={error} onNewest={() => address.filter({})} onRetry={read.refetch} />
      )}
      {(!events || (isOld && events.length === 0)) && error === null && <Loading />}
      {isOld && events && events.length > 0 && error === null && <StillLoading />}
      {open !== undefined && events && !isOld && !events.some(({ position }) => position === open) && (
        <p className="bar">
          <Link to="/history/$position" params={{ position: open }}>
            {words.elsewhere(open)}
          </Link>
        </p>
      )}
      {events && events.length > 0 && (
        <EventList
          events={events}
          isBusy={read.isFetching}
          keepQuiet={QUIET_EVENTS.some((type) => filter.type?.split(',').includes(type))}
          open={open}
          onOpen={onOpen}
        />
      )}
      {events && !isOld && read.isEnded && read.looked !== undefined && (
        <div className="bar">
          <span role="status">{words.looked(read.looked, events.length)}</span>
          <Button busy={read.going ? words.goingOn : undefined} onClick={read.goOn}>
            {words.goOn}
          </Button>
        </div>
      )}
      {events?.length === 0 && !isOld && read.next === '' && <Empty title={words.none}>{nothing}</Empty>}
      <Pager
        onPrevious={address.previous}
        onNext={address.next(read.next)}
        why={error !== null && isOld ? states.notLoaded(words.things) : undefined}
        words={{ previous: words.newer, next: words.older }}
      />
    </div>
  )
}
