import { useKnownMoment } from '../api/moments.ts'
import { isPosition, useAt, useGoTo } from '../at.ts'
import { Button } from '../parts/button.tsx'
import { Safe } from '../parts/feedback/safe.tsx'
import { instantWords, zoneName } from '../parts/moment.ts'
import { type Preferences, usePreferences } from '../preferences.ts'
import { past } from '../words/past.ts'

/** Formats a moment as an instant or a position; returns an invalid moment unchanged. */
export const momentWords = (at: string, zone: Preferences['zone']): string =>
  isPosition(at) ? `#${at}` : Number.isNaN(Date.parse(at)) ? at : instantWords(at, zone, true)

/** Banner: the page shows a past moment. */
export const PastBanner = () => {
  const at = useAt()
  const { zone } = usePreferences()
  const go = useGoTo()
  const known = useKnownMoment(at)
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
      <Button aria-keyshortcuts="." onClick={() => go(undefined)}>
        {past.backToNow}
      </Button>
    </div>
  )
}
