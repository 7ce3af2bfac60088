import { Link } from '@tanstack/react-router'
import { serviceNow } from '../api/clock.ts'
import type { EventFilter } from '../api/event-filters.ts'
import { useKnownMoment } from '../api/moments.ts'
import { instantOf, useAt } from '../at.ts'
import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { tip } from './feedback/tip.ts'
import { distanceWords, fullWords, instantWords, isSameDay } from './moment.ts'

/**
 * Instant, shown as the distance from the page's moment if it is near, else as date and time. The tooltip has the full
 * time with its zone. With `exact` it has seconds; with `toHour` an instant of the same day is “today”.
 */
export const Time = ({
  instant,
  exact = false,
  toHour = false,
  absent = common.never,
  event,
}: {
  readonly instant: string | undefined
  readonly exact?: boolean
  readonly toHour?: boolean
  /** Text if there is no instant. */
  readonly absent?: string
  /** Filter of the history that finds what happened then; the time is a link to it. */
  readonly event?: EventFilter | undefined
}) => {
  const { zone, exactTimes } = usePreferences()
  const at = useAt()
  const known = useKnownMoment(at)
  if (instant === undefined) return <span className="time">{absent}</span>
  const then = instantOf(at) ?? instantOf(known?.instant)
  // The instant of a position is unknown until an answer contains it.
  const unknown = at !== undefined && then === undefined
  const now = then ?? serviceNow()
  const distance = () => (toHour && isSameDay(instant, now, zone) ? common.today : distanceWords(instant, now))
  const near = exact || exactTimes || unknown ? undefined : distance()
  const shown = near ?? instantWords(instant, zone, exact)
  if (event)
    return (
      <Link to="/history" search={event as object} className="time" {...tip(fullWords(instant, zone))}>
        <time dateTime={instant}>{shown}</time>
      </Link>
    )
  return (
    <time dateTime={instant} tabIndex={0} className="time" {...tip(fullWords(instant, zone))}>
      {shown}
    </time>
  )
}
