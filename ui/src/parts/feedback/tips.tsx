import { useEffect, useState } from 'react'
import { noteReach } from '../../api/reach.ts'
import type { TipPopup } from './tip-popup.tsx'

const DELAY_MS = 300
/** How long a tip stays for the pointer that is on its way to it, or to the next. */
const SOON_MS = 100

const tipped = (target: EventTarget | null) =>
  target instanceof Element ? target.closest<HTMLElement>('[data-tip], .tip') : null

/** Calls back with what the tip belongs beside, null for nothing: after a while under the pointer, at once on focus. */
const watch = (show: (anchor: HTMLElement | null) => void): (() => void) => {
  const ended = new AbortController()
  const { signal } = ended
  let timer: number | undefined
  let shown: HTMLElement | null = null
  let under: HTMLElement | null = null
  const now = (anchor: HTMLElement | null) => {
    window.clearTimeout(timer)
    if (shown !== anchor) show(anchor)
    shown = anchor
  }
  const over = (next: HTMLElement | null) => {
    if (next === under) return
    under = next
    window.clearTimeout(timer)
    if (next?.matches('.tip')) return
    timer = window.setTimeout(() => now(next), next && !shown ? DELAY_MS : SOON_MS)
  }
  const away = () => now(null)
  document.addEventListener(
    'pointerover',
    ({ target, pointerType }) => {
      if (pointerType !== 'touch') over(tipped(target))
    },
    { signal },
  )
  document.documentElement.addEventListener('pointerleave', () => over(null), { signal })
  document.addEventListener(
    'focusin',
    ({ target }) => {
      if (target instanceof Element && target.matches(':focus-visible')) now(tipped(target))
    },
    { signal },
  )
  for (const name of ['focusout', 'pointerdown', 'click'] as const)
    document.addEventListener(name, away, { signal, capture: true })
  document.addEventListener('keydown', ({ key }) => key === 'Escape' && away(), { signal, capture: true })
  return () => ended.abort()
}

/** The one tooltip of the page: it belongs to what has the focus or the pointer, and is loaded when it is first wanted. */
export const Tips = () => {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null)
  const [part, setPart] = useState<{ readonly Popup: typeof TipPopup } | undefined>()
  useEffect(() => watch(setAnchor), [])
  useEffect(() => {
    if (anchor && !part)
      import('./tip-popup.tsx').then(
        ({ TipPopup: Popup }) => setPart({ Popup }),
        () => noteReach('away'),
      )
  }, [anchor, part])
  const words = anchor?.dataset['tip']
  return anchor && part && words !== undefined ? <part.Popup anchor={anchor} words={words} /> : null
}
