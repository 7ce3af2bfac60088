import { ChevronDownIcon, ChevronRightIcon } from '@primer/octicons-react'
import { useState } from 'react'
import type { HistoryEvent } from '../../api/history.ts'
import { history as words } from '../../words/history.ts'
import { Button } from '../button.tsx'
import { EventRow } from './event-row.tsx'
import { type Fold, foldsOf, isQuiet } from './folding.ts'

type Opening = { readonly open: string | undefined; readonly onOpen: (position: string | undefined) => void }

const Folded = ({ fold: { first, rest }, open, onOpen }: Opening & { readonly fold: Fold }) => {
  const [unfolded, setUnfolded] = useState(false)
  const isUnfolded = unfolded || rest.some(({ position }) => position === open)
  const row = (event: HistoryEvent) => ({
    event,
    isOpen: event.position === open,
    onToggle: () => onOpen(event.position === open ? undefined : event.position),
  })
  return (
    <>
      <EventRow {...row(first)}>
        {rest.length > 0 && (
          <button
            type="button"
            className="event-fold"
            aria-expanded={isUnfolded}
            onClick={() => {
              setUnfolded(!isUnfolded)
              if (isUnfolded && rest.some(({ position }) => position === open)) onOpen(undefined)
            }}
          >
            {isUnfolded ? <ChevronDownIcon size={12} /> : <ChevronRightIcon size={12} />}
            {words.more(rest.length)}
          </button>
        )}
      </EventRow>
      {isUnfolded && rest.map((event) => <EventRow key={event.position} {...row(event)} isFolded />)}
    </>
  )
}

/** List of events, newest first, with the events of one request folded; quiet events are shown on request. */
export const EventList = ({
  events,
  isBusy,
  keepQuiet,
  open,
  onOpen,
}: Opening & {
  readonly events: readonly HistoryEvent[]
  readonly isBusy: boolean
  /** Whether the filter selects quiet events by their type. */
  readonly keepQuiet: boolean
}) => {
  const [isAll, setIsAll] = useState(false)
  const quiet = events.filter(isQuiet).length
  const shown = isAll || keepQuiet ? events : events.filter((event) => !isQuiet(event) || event.position === open)
  return (
    <>
      {quiet > 0 && !keepQuiet && (
        <div className="bar">
          <Button aria-pressed={isAll} onClick={() => setIsAll(!isAll)}>
            {words.quiet}
          </Button>
          <span className="muted small">
            {shown.length === 0 ? words.onlyQuiet(quiet) : words.quietWhy(events.length - shown.length)}
          </span>
        </div>
      )}
      {shown.length > 0 && (
        <ul className="events" aria-label={words.list} aria-busy={isBusy || undefined}>
          {foldsOf(shown).map((fold) => (
            <Folded key={fold.first.position} fold={fold} open={open} onOpen={onOpen} />
          ))}
        </ul>
      )}
    </>
  )
}
