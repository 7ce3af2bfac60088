import { useNavigate, useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useAt, useGoTo } from '../at.ts'
import { lastNamespace } from '../preferences.ts'
import { palette } from '../words/palette.ts'
import { past } from '../words/past.ts'
import { shell } from '../words/shell.ts'

/** Something that the command palette offers. */
export type Command = {
  readonly id: string
  readonly group: string
  readonly words: string
  readonly keys?: string | undefined
  /** Its address, where it has one. */
  readonly href?: string
  /** Why it does nothing now. */
  readonly why?: string | undefined
  readonly run: () => void
}

const pages = [
  { to: '/ns/$ns/flags', words: shell.flags, keys: 'g f' },
  { to: '/ns/$ns/segments', words: shell.segments, keys: 'g s' },
  { to: '/ns/$ns/evaluate', words: shell.evaluate, keys: 'g e' },
  { to: '/settings/tokens', words: shell.tokens, keys: 'g t' },
  { to: '/settings/sessions', words: shell.sessions },
  { to: '/settings/namespaces', words: shell.namespaces },
  { to: '/settings/preferences', words: shell.preferences },
] as const

type Search = Readonly<Record<string, string>>

/** Makes the command that goes to a page. */
export const useGo = () => {
  const router = useRouter()
  const navigate = useNavigate()
  return useMemo(
    () =>
      (of: Pick<Command, 'id' | 'group' | 'words' | 'keys'>, to: string, search: Search = {}): Command => {
        const place = { to: to as '/ns/$ns/flags', params: { ns: lastNamespace() }, search: search as never }
        return { ...of, href: router.buildLocation(place).publicHref, run: () => void navigate(place) }
      },
    [router, navigate],
  )
}

/** What the head of the page offers: its buttons and links, as they are named. */
const ofPage = (): readonly Command[] =>
  [...document.querySelectorAll<HTMLElement>('main .page-head :is(button, a)')].map((control, n) => ({
    id: `page-${n}`,
    group: palette.actions,
    words: control.textContent,
    keys: control.getAttribute('aria-keyshortcuts') ?? undefined,
    why:
      control.getAttribute('aria-disabled') === 'true' ? (control.getAttribute('aria-description') ?? '') : undefined,
    ...(control instanceof HTMLAnchorElement && { href: control.href }),
    run: () => control.click(),
  }))

/** Every page there is, and every action of the page that is open. */
export const useCommands = (onShortcuts: () => void): readonly Command[] => {
  const router = useRouter()
  const go = useGo()
  const at = useAt()
  const goTo = useGoTo()
  const places = pages
    .filter(({ to }) => to in router.routesByPath)
    .map(({ to, words, ...rest }) => go({ id: to, group: palette.goTo, words, ...rest }, to))
  const always: readonly Command[] = [
    { id: 'shortcuts', group: palette.actions, words: shell.shortcuts, keys: '?', run: onShortcuts },
    ...(at === undefined
      ? []
      : [{ id: 'now', group: palette.actions, words: past.backToNow, keys: '.', run: () => goTo(undefined) }]),
  ]
  return [...places, ...ofPage(), ...always]
}
