import {
  type Icon,
  ShieldCheckIcon,
  ShieldIcon,
  ShieldLockIcon,
  ShieldSlashIcon,
  ShieldXIcon,
} from '@primer/octicons-react'
import { tip } from '../parts/feedback/tip.ts'
import { useLoaded } from '../parts/loaded.ts'
import { integrity as words } from '../words/integrity.ts'
import { type Standing, useStanding, wordOf } from './standing.ts'

const icons: Readonly<Record<Standing['kind'], Icon>> = {
  verified: ShieldCheckIcon,
  sealed: ShieldLockIcon,
  suspended: ShieldSlashIcon,
  building: ShieldIcon,
  broken: ShieldXIcon,
  other: ShieldXIcon,
  unknown: ShieldIcon,
}

/** Button in the top bar with the standing of the history; opens the panel. */
export const Badge = () => {
  const { standing, status } = useStanding()
  const { part: Panel, show, close } = useLoaded(async () => (await import('./panel.tsx')).Panel)
  if (!standing) return null
  const [word, Shown] = [wordOf(standing), icons[standing.kind]]
  return (
    <>
      <button
        type="button"
        className="button plain integrity"
        data-standing={standing.kind}
        aria-label={words.badge(word)}
        aria-haspopup="dialog"
        {...tip(standing.why)}
        onClick={show}
      >
        <Shown />
        <span className="wide-only">{word}</span>
      </button>
      {Panel && <Panel standing={standing} status={status} onClose={close} />}
    </>
  )
}

/** Banner on every page while the history is broken or signed with another key. It cannot be closed. */
export const Banner = () => {
  const { standing } = useStanding()
  if (standing?.kind !== 'broken' && standing?.kind !== 'other') return null
  return (
    <div className="banner broken">
      <ShieldXIcon />
      <span>{standing.kind === 'broken' ? words.banner(standing.index) : words.bannerOther}</span>
    </div>
  )
}
