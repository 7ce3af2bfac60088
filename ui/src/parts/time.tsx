import { serviceNow } from '../api/clock.ts'
import { useKnownMoment } from '../api/moments.ts'
import { instantOf, useAt } from '../at.ts'
import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { tip } from './feedback/tip.ts'
import { distanceWords, fullWords, instantWords, isSameDay } from './moment.ts'

/**
 * An instant: its distance from the moment that the page shows where it is near, else day and time; the whole of it, with its zone, on focus
 * and under the pointer. `exact` is to the second; of what is known to the hour alone the nearest said is the day.
 */
export const Time = ({
  instant,
  exact = false,
  toHour = false,
  absent = common.never,
}: {
  readonly instant: string | undefined
  readonly exact?: boolean
  readonly toHour?: boolean
  /** What it means that there is none. */
  readonly absent?: string
}) => {
  const { zone, exactTimes } = usePreferences()
  const at = useAt()
  const known = useKnownMoment(at)
  if (instant === undefined) return <span className="time">{absent}</span>
  const then = instantOf(at) ?? instantOf(known?.instant)
  // Under a position it is not known what the time was before an answer tells it.
  const unknown = at !== undefined && then === undefined
  const now = then ?? serviceNow()
  const distance = () => (toHour && isSameDay(instant, now, zone) ? common.today : distanceWords(instant, now))
  const near = exact || exactTimes || unknown ? undefined : distance()
  return (
    <time dateTime={instant} tabIndex={0} className="time" {...tip(fullWords(instant, zone))}>
      {near ?? instantWords(instant, zone, exact)}
    </time>
  )
}
