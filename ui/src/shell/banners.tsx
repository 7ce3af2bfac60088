import { useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { serviceNow } from '../api/clock.ts'
import { useReach } from '../api/reach.ts'
import { isReplaced } from '../api/released.ts'
import { Button } from '../parts/button.tsx'
import { instantWords } from '../parts/moment.ts'
import { sessionEnds, usePreferences } from '../preferences.ts'
import { useSession } from '../session.tsx'
import { common, states } from '../words/common.ts'
import { login } from '../words/login.ts'
import { IntegrityPart } from './integrity-part.tsx'
import { PastBanner } from './past.tsx'
import { useRecovery } from './recovery.ts'

const SOON_MS = 5 * 60_000
const LOOK_MS = 10_000

const Banner = ({ words, children }: { readonly words: string; readonly children: ReactNode }) => (
  <div className="banner">
    <span>{words}</span>
    {children}
  </div>
)

/** Banner: the service does not answer, or cannot prove that its data is current. */
const Unreached = () => {
  const reach = useReach()
  const again = useRecovery()
  return reach === 'reached' ? null : (
    <Banner words={reach === 'stale' ? states.stale : states.offline}>
      <Button onClick={() => void again()}>{common.tryAgain}</Button>
    </Banner>
  )
}

/** Earlier future expiry of cookie and token, in ms since 1970; undefined if there is none. */
const endOf = (tokenEnds: string | undefined): number | undefined => {
  const known = [sessionEnds(), tokenEnds].flatMap((instant) => (instant === undefined ? [] : [Date.parse(instant)]))
  const ahead = known.filter((end) => end > serviceNow())
  return ahead.length === 0 ? undefined : Math.min(...ahead)
}

/** Banner: the session ends soon. */
const EndsSoon = () => {
  const { authenticated, sessionEndsAt, ask } = useSession()
  const { zone } = usePreferences()
  const [end, setEnd] = useState<number | undefined>()
  useEffect(() => {
    const look = () => {
      const next = authenticated ? endOf(sessionEndsAt) : undefined
      setEnd(next !== undefined && next - serviceNow() <= SOON_MS ? next : undefined)
    }
    look()
    const timer = window.setInterval(look, LOOK_MS)
    return () => window.clearInterval(timer)
  }, [authenticated, sessionEndsAt])
  return end === undefined ? null : (
    <Banner words={login.endsAt(instantWords(new Date(end).toISOString(), zone))}>
      <Button onClick={() => ask('early')}>{login.signInAgain}</Button>
    </Banner>
  )
}

/** Banner: the service has a newer build. Checks when the page opens and when it becomes visible. */
const Updated = () => {
  const router = useRouter()
  const [replaced, setReplaced] = useState(false)
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === 'visible') void isReplaced().then((found) => found && setReplaced(true))
    }
    look()
    document.addEventListener('visibilitychange', look)
    const stop = router.subscribe('onResolved', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      stop()
    }
  }, [router])
  return replaced ? (
    <Banner words={states.updated}>
      <Button onClick={() => window.location.reload()}>{common.reload}</Button>
    </Banner>
  ) : null
}

/** Banners above every page. */
export const Banners = () => (
  <div className="banners" aria-live="polite">
    <IntegrityPart part="Banner" />
    <PastBanner />
    <Unreached />
    <EndsSoon />
    <Updated />
  </div>
)
