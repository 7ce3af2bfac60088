import { ChevronLeftIcon, ChevronRightIcon } from '@primer/octicons-react'
import { useNavigate } from '@tanstack/react-router'
import { useKnownMoment } from '../api/moments.ts'
import { isPosition, useAt, useGoTo } from '../at.ts'
import { streamOf, type Thing, toRestored } from '../links.ts'
import { useOpenThing } from '../open-thing.ts'
import { Button, IconButton } from '../parts/button.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { instantWords, zoneName } from '../parts/moment.ts'
import { restoringRights } from '../parts/restore-link.tsx'
import { type Preferences, usePreferences } from '../preferences.ts'
import { useWhyNot } from '../why-not.ts'
import { past } from '../words/past.ts'
import { restore } from '../words/restore.ts'
import { useStep } from './step.ts'

/** Formats a moment as an instant or a position; returns an invalid moment unchanged. */
export const momentWords = (at: string, zone: Preferences['zone']): string =>
  isPosition(at) ? `#${at}` : Number.isNaN(Date.parse(at)) ? at : instantWords(at, zone, true)

/** Buttons for the past state of the open flag or segment. They leave the past. */
const OfThing = ({ thing, moment }: { readonly thing: Thing; readonly moment: string }) => {
  const navigate = useNavigate()
  const why = useWhyNot(undefined, ...restoringRights(thing))
  const compare = { stream: streamOf(thing), a: moment, at: undefined } as { readonly stream: string }
  return (
    <>
      <Button why={why} onClick={() => void navigate(toRestored(thing, moment))}>
        {restore.action}
      </Button>
      <Button onClick={() => void navigate({ to: '/history/compare', search: compare })}>{restore.compare}</Button>
    </>
  )
}

/** Banner: the page shows a past moment (ui.md §11.10). */
export const PastBanner = () => {
  const at = useAt()
  const { zone } = usePreferences()
  const go = useGoTo()
  const known = useKnownMoment(at)
  const thing = useOpenThing()
  const { step, wrong } = useStep()
  if (at === undefined) return null
  const position = isPosition(at) ? at : known?.position
  const instant = isPosition(at) ? known?.instant : at
  const words =
    instant === undefined ? past.seenPosition(at) : past.seen(momentWords(instant, zone), zoneName(zone), position)
  return (
    <div className="banner past" role="region" aria-label={past.region}>
      <span>
        <Safe text={words} />
      </span>
      <span className="bar">
        <IconButton
          name={past.stepBack}
          icon={<ChevronLeftIcon />}
          aria-keyshortcuts="["
          onClick={() => void step('previous')}
        />
        <IconButton
          name={past.stepForward}
          icon={<ChevronRightIcon />}
          aria-keyshortcuts="]"
          onClick={() => void step('next')}
        />
        {thing && <OfThing thing={thing} moment={position ?? at} />}
        <Button aria-keyshortcuts="." onClick={() => go(undefined)}>
          {past.backToNow}
        </Button>
      </span>
      {wrong !== undefined && (
        <span role="alert">
          <Safe text={wrong} />
        </span>
      )}
    </div>
  )
}
