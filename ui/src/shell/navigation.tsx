import {
  BeakerIcon,
  DevicesIcon,
  type Icon,
  KebabHorizontalIcon,
  KeyIcon,
  PeopleIcon,
  SlidersIcon,
  StackIcon,
  TelescopeIcon,
} from '@primer/octicons-react'
import { Link, useLocation, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { lastNamespace } from '../preferences.ts'
import { shell } from '../words/shell.ts'
import { useIsOpenTo } from './sections.ts'

type Entry = {
  readonly to: string
  readonly words: string
  readonly icon: Icon
  readonly first?: boolean
  readonly short?: string
}

const ofNamespace: readonly Entry[] = [
  { to: '/ns/$ns/flags', words: shell.flags, icon: TelescopeIcon, first: true },
  { to: '/ns/$ns/segments', words: shell.segments, icon: PeopleIcon, first: true },
  { to: '/ns/$ns/evaluate', words: shell.evaluate, icon: BeakerIcon },
]
const ofSettings: readonly Entry[] = [
  { to: '/settings/tokens', words: shell.tokens, icon: KeyIcon, first: true, short: shell.tokensShort },
  { to: '/settings/sessions', words: shell.sessions, icon: DevicesIcon },
  { to: '/settings/namespaces', words: shell.namespaces, icon: StackIcon },
  { to: '/settings/preferences', words: shell.preferences, icon: SlidersIcon },
]

const Entries = ({ entries, ns }: { readonly entries: readonly Entry[]; readonly ns: string }) => {
  const isOpenTo = useIsOpenTo()
  const shown = entries.filter(({ to }) => isOpenTo(to))
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
        <Entries entries={ofNamespace} ns={ns} />
        <li className="group">{shell.settings}</li>
        <Entries entries={ofSettings} ns={ns} />
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
