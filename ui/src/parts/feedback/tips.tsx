import { useEffect, useState } from 'react'
import { usePart } from '../loaded.ts'

const DELAY_MS = 300
/** Time (ms) that a tooltip stays while the pointer moves to it or to the next element. */
const SOON_MS = 100

const tipped = (target: EventTarget | null) =>
  target instanceof Element ? target.closest<HTMLElement>('[data-tip], .tip') : null

/** Calls back with the anchor of the tooltip, or null to hide it: after a delay on hover, at once on focus. */
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

const loadPopup = async () => (await import('./tip-popup.tsx')).TipPopup

/** The only tooltip of the page, for the focused or hovered element; its code is loaded on first use. */
export const Tips = () => {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null)
  const { part: Popup } = usePart(loadPopup, anchor !== null)
  useEffect(() => watch(setAnchor), [])
  const words = anchor?.dataset['tip']
  return anchor && Popup && words !== undefined ? <Popup anchor={anchor} words={words} /> : null
}
