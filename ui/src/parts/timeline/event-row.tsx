import { CheckIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useId } from 'react'
import type { HistoryEvent } from '../../api/history.ts'
import { usePreferences } from '../../preferences.ts'
import { history as words } from '../../words/history.ts'
import { Safe } from '../feedback/safe.tsx'
import { inZone } from '../moment.ts'
import { Time } from '../time.tsx'
import { actorOf } from './event-actor.ts'
import { EventDetail } from './event-detail.tsx'

/** Word and shape of an outcome that is no success. */
const Outcome = ({ outcome }: HistoryEvent) =>
  outcome === 'success' ? null : (
    <span className={outcome === 'denied' ? 'badge gone' : 'badge warn'}>{words.outcomes[outcome]}</span>
  )

/** Maximum length of a value in the line of an event. */
const SHORT = 40
const isShort = (value: unknown): value is number | string =>
  typeof value === 'number' || (typeof value === 'string' && value !== '' && value.length <= SHORT)

/** Values before and after, if the event changed one short value. */
const Values = ({ changes: [change, ...others] }: Pick<HistoryEvent, 'changes'>) => {
  const { zone } = usePreferences()
  if (!change || others.length > 0 || !isShort(change.from) || !isShort(change.to)) return null
  // A constraint keeps its value in UTC.
  const shown = (value: number | string) => (change.path.endsWith('At') ? inZone(String(value), zone) : String(value))
  return (
    <span className="muted">
      <Safe text={words.values(shown(change.from), shown(change.to))} />
    </span>
  )
}

/** One event of a list: a line, and, if it is open, its details. */
export const EventRow = ({
  event,
  isFolded = false,
  isOpen,
  onToggle,
  children,
}: {
  readonly event: HistoryEvent
  /** Whether it follows another event of the same request. */
  readonly isFolded?: boolean
  readonly isOpen: boolean
  readonly onToggle: () => void
  /** Control below the line. */
  readonly children?: ReactNode
}) => {
  const id = useId()
  const { time, summary, reason, position, sealed } = event
  const { zone } = usePreferences()
  return (
    <li data-row="" data-folded={isFolded || undefined} data-open={isOpen || undefined} className="event">
      <div className="event-line">
        <span className="event-time">
          <Time instant={time} exact />
        </span>
        <span className="event-actor muted">
          <Safe text={actorOf(event)} />
        </span>
        <span className="event-what">
          <button
            type="button"
            className="event-summary"
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            onClick={onToggle}
          >
            <Safe text={inZone(summary, zone)} />
          </button>
          <Values {...event} />
          <Outcome {...event} />
          {reason !== undefined && (
            <q className="muted">
              <Safe text={reason} />
            </q>
          )}
        </span>
        <span className="event-place">
          <Link to="/history/$position" params={{ position }}>
            {words.position(position)}
          </Link>
          <span className="event-seal">
            {sealed && (
              <>
                <CheckIcon size={12} />
                <span className="visually-hidden">{words.sealed}</span>
              </>
            )}
          </span>
        </span>
      </div>
      {isOpen && (
        <div id={id} className="event-detail">
          <EventDetail event={event} />
        </div>
      )}
      {children}
    </li>
  )
}
