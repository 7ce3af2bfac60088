import { useKnownMoment } from '../api/moments.ts'
import { isInstant, isPosition, useAt, useGoTo } from '../at.ts'
import { Button } from '../parts/button.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { usePart } from '../parts/loaded.ts'
import { instantWords, zoneName } from '../parts/moment.ts'
import { type Preferences, usePreferences } from '../preferences.ts'
import { past } from '../words/past.ts'

/** Formats a moment as an instant or a position; returns an invalid moment unchanged. */
export const momentWords = (at: string, zone: Preferences['zone']): string =>
  isPosition(at) ? `#${at}` : isInstant(at) ? instantWords(at, zone, true) : at

/** Buttons of the banner. Most pages show the present and do not need them. */
const loadActions = async () => (await import('./past-actions.tsx')).PastActions

/** Banner: the page shows a past moment (ui.md §11.10). */
export const PastBanner = () => {
  const at = useAt()
  const { zone } = usePreferences()
  const go = useGoTo()
  const known = useKnownMoment(at)
  const { part: Actions } = usePart(loadActions, at !== undefined)
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
        {Actions && <Actions moment={position ?? at} />}
        <Button aria-keyshortcuts="." onClick={() => go(undefined)}>
          {past.backToNow}
        </Button>
      </span>
    </div>
  )
}
