import { ChecklistIcon, SearchIcon } from '@primer/octicons-react'
import { Link, Outlet } from '@tanstack/react-router'
import { type MouseEvent, useEffect, useRef } from 'react'
import { tip } from '../parts/feedback/tip.ts'
import { useLoaded } from '../parts/loaded.ts'
import { loginAddress } from '../return-path.ts'
import { useSession } from '../session.tsx'
import { common, states } from '../words/common.ts'
import { shownKeys } from '../words/keys.ts'
import { palette as words } from '../words/palette.ts'
import { Account } from './account.tsx'
import { Banners } from './banners.tsx'
import { Clock } from './clock.tsx'
import { ColourLine, Environment } from './environment.tsx'
import { IntegrityPart } from './integrity-part.tsx'
import { isOpen } from './keys.ts'
import { NamespacePicker } from './namespace-picker.tsx'
import { Navigation } from './navigation.tsx'
import { SessionEnded } from './session-ended.tsx'
import { useKeys } from './use-keys.ts'

/** Badge about this deployment in the top bar, with a tooltip. */
const Chip = ({ word, why }: { readonly word: string; readonly why: string }) => (
  <button type="button" className="badge warn" {...tip(why)}>
    {word}
  </button>
)

const toContent = (event: MouseEvent) => {
  event.preventDefault()
  const content = document.getElementById('content')
  content?.focus()
  content?.scrollIntoView()
}

/** Top bar. */
const Top = ({ onShortcuts }: { readonly onShortcuts: () => void }) => {
  const { part: Palette, show, close } = useLoaded(async () => (await import('./palette.tsx')).Palette)
  const search = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || isOpen()) return
      event.preventDefault()
      search.current?.click()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [])
  const { authenticated, required, service } = useSession()
  return (
    <header className="top">
      <ColourLine />
      <div className="line">
        <Link className="brand" to="/" aria-label={common.product}>
          <ChecklistIcon size={20} />
          <span>{common.product}</span>
        </Link>
        <NamespacePicker />
        <Environment />
        <span className="push bar">
          {service.readOnly && <Chip word={states.readOnly} why={states.readOnlyWhy} />}
          {!required && !authenticated && <Chip word={states.openAccess} why={states.openAccessWhy} />}
          <button
            type="button"
            className="button plain"
            aria-label={words.open}
            aria-keyshortcuts="Control+K Meta+K"
            {...tip(shownKeys('Control+K'))}
            ref={search}
            onClick={show}
          >
            <SearchIcon />
            <span className="wide-only with-keys" data-keys={shownKeys('Control+K')}>
              {words.open}
            </span>
          </button>
          <Clock />
          <IntegrityPart part="Badge" />
          <Account onShortcuts={onShortcuts} />
        </span>
      </div>
      {Palette && <Palette onClose={close} onShortcuts={onShortcuts} />}
    </header>
  )
}

/** Frame of every page: top bar, navigation and content (ui.md §5). */
export const Shell = () => {
  const { away } = useSession()
  const { part: Shortcuts, show, close } = useLoaded(async () => (await import('./shortcuts.tsx')).Shortcuts)
  useKeys(show)
  useEffect(() => {
    if (away) window.location.replace(loginAddress())
  }, [away])
  if (away) return null
  return (
    <div className="shell">
      <a className="skip" href="#content" onClick={toContent}>
        {common.skip}
      </a>
      <Top onShortcuts={show} />
      <Banners />
      <Navigation />
      <main className="content" id="content" tabIndex={-1}>
        <Outlet />
      </main>
      {Shortcuts && <Shortcuts onClose={close} />}
      <SessionEnded />
    </div>
  )
}
