import { useNavigate, useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useAt, useGoTo } from '../at.ts'
import { lastNamespace } from '../preferences.ts'
import { palette } from '../words/palette.ts'
import { past } from '../words/past.ts'
import { shell } from '../words/shell.ts'
import { press } from './keys.ts'
import { useIsOpenTo } from './sections.ts'

/** Something that the command palette offers. */
export type Command = {
  readonly id: string
  readonly group: string
  readonly words: string
  /** What else it is known by. */
  readonly detail?: string | undefined
  /** Its shortcut, in the form of `aria-keyshortcuts`. */
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

/** Which page, and what of it. */
export type Place = {
  readonly to: string
  readonly params?: Readonly<Record<string, string>>
  readonly search?: Readonly<Record<string, string>>
}

/** Makes the command that goes to a page; undefined where there is none. */
export const useGo = () => {
  const router = useRouter()
  const navigate = useNavigate()
  return useMemo(
    () =>
      (of: Omit<Command, 'href' | 'run'>, { to, params, search = {} }: Place): Command | undefined => {
        if (!(to in router.routesByPath)) return undefined
        const place = {
          to: to as '/ns/$ns/flags',
          params: { ns: lastNamespace(), ...params },
          search: search as never,
        }
        return { ...of, href: router.buildLocation(place).publicHref, run: () => void navigate(place) }
      },
    [router, navigate],
  )
}

/** What a control is called. */
const nameOf = (control: HTMLElement): string => control.getAttribute('aria-label') ?? control.textContent.trim()

const isRefused = (control: HTMLElement): boolean => control.getAttribute('aria-disabled') === 'true'

const isOffered = (control: HTMLElement): boolean =>
  control.checkVisibility() &&
  (control.tabIndex >= 0 || isRefused(control)) &&
  control.closest('li, tr, [role=tablist], [role=alert]') === null

/** What the page offers as a whole: its buttons, and the links of its head. What is offered beside each row or part of a list is not among it. */
const ofPage = (): readonly Command[] =>
  [...document.querySelectorAll<HTMLElement>('main button, main .page-head a')].filter(isOffered).map((control, n) => ({
    id: `page-${n}`,
    group: palette.actions,
    words: nameOf(control),
    keys: control.getAttribute('aria-keyshortcuts') ?? undefined,
    why: isRefused(control) ? (control.getAttribute('aria-description') ?? '') : undefined,
    ...(control instanceof HTMLAnchorElement && { href: control.href }),
    run: () => control.click(),
  }))

/** Every page on which somebody may do anything, and every action of the page that is open. */
export const useCommands = (onShortcuts: () => void): readonly Command[] => {
  const go = useGo()
  const at = useAt()
  const goTo = useGoTo()
  const isOpenTo = useIsOpenTo()
  const places = pages.flatMap(({ to, words, ...rest }) =>
    isOpenTo(to) ? (go({ id: to, group: palette.goTo, words, ...rest }, { to }) ?? []) : [],
  )
  const always: readonly Command[] = [
    { id: 'clock', group: palette.actions, words: past.title, keys: 't', run: () => press('header', 't') },
    { id: 'shortcuts', group: palette.actions, words: shell.shortcuts, keys: '?', run: onShortcuts },
    ...(at === undefined
      ? []
      : [{ id: 'now', group: palette.actions, words: past.backToNow, keys: '.', run: () => goTo(undefined) }]),
  ]
  return [...places, ...ofPage(), ...always]
}
