import { useNavigate, useRouter } from '@tanstack/react-router'
import { useCallback, useEffect, useRef } from 'react'
import { useAt, useGoTo } from '../at.ts'
import { entries } from '../pages.ts'
import { Button } from '../parts/button.tsx'
import { Actions, Dialog } from '../parts/feedback/dialog.tsx'
import { lastNamespace, usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { shortcuts as words } from '../words/shortcuts.ts'
import { isOpen, isTyping, moveRow, press, search, sendForm, toggleRow } from './keys.ts'

const SEQUENCE_MS = 2000
const places = new Map(entries.map(({ key, to }) => [key, to]))

/** Handles the keys of ui.md §10.1. */
const useKeys = (onHelp: () => void): void => {
  const { singleKeys } = usePreferences()
  const navigate = useNavigate()
  const router = useRouter()
  const at = useAt()
  const goTo = useGoTo()
  const going = useRef(Number.NEGATIVE_INFINITY)
  useEffect(() => {
    const page: Readonly<Partial<Record<string, () => void>>> = {
      '/': search,
      '?': onHelp,
      j: () => moveRow(1),
      k: () => moveRow(-1),
      x: toggleRow,
      n: () => press('main', 'n'),
      e: () => press('main', 'e'),
      t: () => press('header', 't'),
      '[': () => press('.banners', '['),
      ']': () => press('.banners', ']'),
      '.': () => at !== undefined && goTo(undefined),
    }
    const go = (to: string) => {
      if (to in router.routesByPath) void navigate({ to: to as '/ns/$ns/flags', params: { ns: lastNamespace() } })
    }
    const onKey = (event: KeyboardEvent) => {
      const { key, altKey, ctrlKey, metaKey } = event
      if ((ctrlKey || metaKey) && key === 'Enter') return sendForm(event)
      if (!singleKeys || altKey || ctrlKey || metaKey || event.defaultPrevented || isTyping(event.target) || isOpen())
        return
      const place = event.timeStamp - going.current < SEQUENCE_MS ? places.get(key) : undefined
      going.current = key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      const act = place === undefined ? page[key] : () => go(place)
      if (!act) return
      event.preventDefault()
      act()
    }
    document.addEventListener('keydown', onKey)
    return () => document.removeEventListener('keydown', onKey)
  }, [singleKeys, navigate, router, at, goTo, onHelp])
}

const Keys = ({ keys }: { readonly keys: readonly string[] }) => (
  <span className="bar keys">
    {keys.map((key) => (
      <kbd key={key}>{key}</kbd>
    ))}
  </span>
)

/** Handles keyboard shortcuts and shows their list. */
export const Shortcuts = ({
  open,
  onOpenChange,
}: {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}) => {
  const { singleKeys } = usePreferences()
  useKeys(useCallback(() => onOpenChange(true), [onOpenChange]))
  const top = useRef<HTMLDivElement>(null)
  const close = () => onOpenChange(false)
  return (
    <Dialog title={words.title} open={open} onClose={close} initialFocus={top}>
      <div ref={top} tabIndex={-1} className="stack plain-focus">
        {!singleKeys && <p className="notice">{words.off}</p>}
        {words.groups.map(({ name, of }) => (
          <section key={name} className="tight">
            <h3>{name}</h3>
            <dl className="shortcuts">
              {of.map(({ keys, does }) => (
                <div key={does}>
                  <dt>{does}</dt>
                  <dd>
                    <Keys keys={keys} />
                  </dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <Actions>
        <Button onClick={close}>{common.close}</Button>
      </Actions>
    </Dialog>
  )
}
