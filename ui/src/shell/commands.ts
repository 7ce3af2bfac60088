import { useNavigate, useRouter } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useAt, useGoTo } from '../at.ts'
import { entries } from '../pages.ts'
import { lastNamespace } from '../preferences.ts'
import { palette } from '../words/palette.ts'
import { past } from '../words/past.ts'
import { shell } from '../words/shell.ts'
import { press } from './keys.ts'
import { useIsOpenTo } from './sections.ts'

/** Entry of the command palette. */
export type Command = {
  readonly id: string
  readonly group: string
  readonly words: string
  /** Secondary text, for example the key. */
  readonly detail?: string | undefined
  /** Shortcut in the format of `aria-keyshortcuts`. */
  readonly keys?: string | undefined
  /** Link target, if any. */
  readonly href?: string
  /** Reason why it is disabled. */
  readonly why?: string | undefined
  readonly run: () => void
}

/** Route with its parameters. */
type Place = {
  readonly to: string
  readonly params?: Readonly<Record<string, string>>
  readonly search?: Readonly<Record<string, string>>
}

/** Returns a function that creates a navigation command; it returns undefined for an unknown route. */
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

/** Accessible name of a control. */
const nameOf = (control: HTMLElement): string => control.getAttribute('aria-label') ?? control.textContent.trim()

const isRefused = (control: HTMLElement): boolean => control.getAttribute('aria-disabled') === 'true'

const isOffered = (control: HTMLElement): boolean =>
  control.checkVisibility() &&
  (control.tabIndex >= 0 || isRefused(control)) &&
  control.closest('li, tr, [role=tablist], [role=alert]') === null

/**
 * Commands of the open page: its buttons and the links of its head, without the controls of table rows and list items.
 */
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

/** Returns the commands of the permitted pages and the actions of the open page. */
export const useCommands = (onShortcuts: () => void): readonly Command[] => {
  const go = useGo()
  const at = useAt()
  const goTo = useGoTo()
  const isOpenTo = useIsOpenTo()
  const places = entries.filter(isOpenTo).flatMap(({ to, words, key }) => {
    const keys = key === undefined ? undefined : `g ${key}`
    return go({ id: to, group: palette.goTo, words, keys }, { to }) ?? []
  })
  const always: readonly Command[] = [
    { id: 'clock', group: palette.actions, words: past.title, keys: 't', run: () => press('header', 't') },
    { id: 'shortcuts', group: palette.actions, words: shell.shortcuts, keys: '?', run: onShortcuts },
    ...(at === undefined
      ? []
      : [{ id: 'now', group: palette.actions, words: past.backToNow, keys: '.', run: () => goTo(undefined) }]),
  ]
  return [...places, ...ofPage(), ...always]
}
