import { ClockIcon } from '@primer/octicons-react'
import { useRef } from 'react'
import { useAt } from '../at.ts'
import { Safe } from '../parts/feedback/safe.tsx'
import { useLoaded } from '../parts/loaded.ts'
import { usePreferences } from '../preferences.ts'
import { past } from '../words/past.ts'
import { momentWords } from './past.tsx'

/** Button with the moment that every page shows; opens the clock popover (ui.md §11.10). */
export const Clock = () => {
  const at = useAt()
  const { zone } = usePreferences()
  const button = useRef<HTMLButtonElement>(null)
  const { part: Popover, open, show, close } = useLoaded(async () => (await import('./clock-popover.tsx')).ClockPopover)
  const words = at === undefined ? past.short : momentWords(at, zone)
  return (
    <>
      <button
        ref={button}
        type="button"
        className={at === undefined ? 'button plain' : 'button past'}
        aria-label={at === undefined ? past.now : past.at(words)}
        aria-keyshortcuts="t"
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={open ? close : show}
      >
        <ClockIcon />
        <span className="wide-only">
          <Safe text={words} />
        </span>
      </button>
      {Popover && <Popover button={button} onClose={close} />}
    </>
  )
}
