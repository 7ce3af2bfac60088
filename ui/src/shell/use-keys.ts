import { useNavigate, useRouter } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useAt, useGoTo } from '../at.ts'
import { entries } from '../pages.ts'
import { lastNamespace, usePreferences } from '../preferences.ts'
import { isOpen, isTyping, moveRow, press, search, sendForm, toggleRow } from './keys.ts'

const SEQUENCE_MS = 2000
const places = new Map(entries.map(({ key, to }) => [key, to]))

/** Handles the keys of ui.md §10.1. */
export const useKeys = (onHelp: () => void): void => {
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
