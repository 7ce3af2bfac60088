import { KebabHorizontalIcon } from '@primer/octicons-react'
import { Link, useLocation, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Entry } from '../page-definition.ts'
import { entries } from '../pages.ts'
import { lastNamespace } from '../preferences.ts'
import { shell } from '../words/shell.ts'
import { useIsOpenTo } from './sections.ts'

const Entries = ({ group, ns }: { readonly group: Entry['group']; readonly ns: string }) => {
  const isOpenTo = useIsOpenTo()
  const shown = entries.filter((entry) => entry.group === group && isOpenTo(entry))
  return shown.map(({ to, words, icon: Icon, first, short }) => (
    <li key={to} className={first ? 'first' : 'rest'}>
      <Link to={to as '/ns/$ns/flags'} params={{ ns }} activeProps={{ 'aria-current': 'page' }} aria-label={words}>
        <Icon />
        <span data-short={short}>{words}</span>
      </Link>
    </li>
  ))
}

/** Links to the permitted sections (ui.md §2.5). In a narrow window the rarely used ones are behind a button. */
export const Navigation = () => {
  const { ns = lastNamespace() } = useParams({ strict: false }) as { readonly ns?: string }
  const { pathname } = useLocation()
  // Collapses on navigation.
  const [openedAt, setOpenedAt] = useState<string | undefined>()
  const open = openedAt === pathname
  return (
    <nav className="nav" aria-label={shell.main} data-open={open || undefined}>
      <ul>
        <Entries group="namespace" ns={ns} />
        <li className="group">{shell.settings}</li>
        <Entries group="settings" ns={ns} />
        <li className="more">
          <button type="button" aria-expanded={open} onClick={() => setOpenedAt(open ? undefined : pathname)}>
            <KebabHorizontalIcon />
            {shell.more}
          </button>
        </li>
      </ul>
    </nav>
  )
}
