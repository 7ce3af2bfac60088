import { Outlet, useLocation } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ChecklistIcon } from '@primer/octicons-react'
import { Link } from '@tanstack/react-router'
import { Tip } from '../parts/button.tsx'
import { basePath } from '../return-path.ts'
import { useSession } from '../session.tsx'
import { common, states } from '../words/common.ts'
import { Account } from './account.tsx'
import { ColourLine, Environment } from './environment.tsx'
import { Navigation } from './navigation.tsx'
import { NamespacePicker } from './namespace-picker.tsx'
import { SessionEnded } from './session-ended.tsx'

/** A word about this deployment in the bar on top, with what it means. */
const Chip = ({ word, why }: { readonly word: string; readonly why: string }) => (
  <Tip words={why}>
    <button type="button" className="badge warn">
      {word}
    </button>
  </Tip>
)

/** What stands around every page: the bar on top, the navigation, the page itself (ui.md §5). */
export const Shell = () => {
  const { authenticated, required, service } = useSession()
  const { href } = useLocation()
  const away = required && !authenticated
  useEffect(() => {
    if (!away) return
    const returnTo = href === '/' ? '' : `?${new URLSearchParams({ return_to: href }).toString()}`
    window.location.replace(`${basePath()}/login${returnTo}`)
  }, [away, href])
  if (away) return null
  return (
    <div className="shell">
      <a className="skip" href={`${basePath()}${href.replace(/#.*$/, '')}#content`}>
        {common.skip}
      </a>
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
            <Account />
          </span>
        </div>
      </header>
      <Navigation />
      <main className="content" id="content" tabIndex={-1}>
        <Outlet />
      </main>
      <SessionEnded />
    </div>
  )
}
