import type { EventFilter } from '../../api/event-filters.ts'
import type { Actor } from '../../api/flags.ts'
import { common } from '../../words/common.ts'
import { actorName } from '../actor.ts'
import { Safe } from '../feedback/safe.tsx'
import { Time } from '../time.tsx'

/** Time and, if known, author of an event. */
export const Happened = ({
  at,
  by,
  event,
}: {
  readonly at: string
  readonly by: string | undefined
  readonly event?: EventFilter | undefined
}) => (
  <span>
    <Time instant={at} event={event} />{' '}
    {by !== undefined && (
      <span className="muted small">
        <Safe text={common.by(by)} />
      </span>
    )}
  </span>
)

/** Filter of the events of a resource that happened at an instant. */
const eventsAt = (of: EventFilter, instant: string): EventFilter => ({
  ...of,
  from: instant,
  to: new Date(Date.parse(instant) + 1).toISOString(),
})

/** Time and, if known, author of the last change. The time links to the event; `of` finds the history, if readable. */
export const Changed = ({
  at,
  by,
  of,
}: {
  readonly at: string
  readonly by: Actor | undefined
  readonly of: EventFilter | undefined
}) => <Happened at={at} by={by && actorName(by)} event={of && eventsAt(of, at)} />
