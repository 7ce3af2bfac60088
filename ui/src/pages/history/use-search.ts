import { type KeyboardEvent, type RefObject, useEffect, useRef, useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { filterOf, termsIn, textOfFilter } from './filter-text.ts'
import { isComplete, type Suggestion, useSuggestions, wordBefore } from './suggestions.ts'

const PAUSE_MS = 400

/** Text of the field. It follows the filter, except while it already means the same. */
const useText = (filter: EventFilter) => {
  const canonical = textOfFilter(filter)
  const [text, setText] = useState(canonical)
  const [seen, setSeen] = useState(canonical)
  if (canonical !== seen) {
    setSeen(canonical)
    if (textOfFilter(filterOf(termsIn(text), {})) !== canonical) setText(canonical)
  }
  return { text, setText, canonical }
}

/** Applies a complete text after a pause in typing. */
const useApplied = (text: string, apply: (text: string) => void): void => {
  const latest = useRef(apply)
  useEffect(() => {
    latest.current = apply
  })
  useEffect(() => {
    if (!isComplete(text)) return undefined
    const timer = window.setTimeout(() => latest.current(text), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [text])
}

/**
 * State of the search field of the history: its text, and the suggestions for the word before the caret. `active` is
 * the highlighted suggestion, or −1.
 */
export const useSearchText = (
  filter: EventFilter,
  onChange: (filter: EventFilter) => void,
  input: RefObject<HTMLInputElement | null>,
) => {
  const { text, setText, canonical } = useText(filter)
  const [caret, setCaret] = useState<number | undefined>()
  const [active, setActive] = useState(-1)
  const word = caret === undefined ? undefined : wordBefore(text, caret)
  const all = useSuggestions(word, text)
  const isOpen = word !== undefined && all.length > 0
  const close = () => {
    setCaret(undefined)
    setActive(-1)
  }
  const apply = (next: string) => {
    const wanted = filterOf(termsIn(next), filter)
    if (textOfFilter(wanted) !== canonical) onChange(wanted)
  }
  useApplied(text, apply)
  const choose = (suggestion: Suggestion) => {
    if (!word || caret === undefined) return
    const next = text.slice(0, word.start) + suggestion.text + text.slice(caret).trimStart()
    const isName = suggestion.text.endsWith(':')
    setText(next)
    setActive(-1)
    setCaret(isName ? word.start + suggestion.text.length : undefined)
    if (!isName) apply(next)
    input.current?.focus()
  }
  const actOf = (key: string): (() => void) | undefined => {
    if (key === 'ArrowDown' && !isOpen) return () => setCaret(input.current?.selectionStart ?? text.length)
    if (key === 'ArrowDown') return () => setActive((active + 1) % all.length)
    if (key === 'ArrowUp' && isOpen) return () => setActive((active <= 0 ? all.length : active) - 1)
    if (key === 'Enter' && isOpen && all[active]) return () => choose(all[active]!)
    if (key === 'Escape' && isOpen) return close
    if (key !== 'Escape' || text === '') return undefined
    return () => {
      setText('')
      apply('')
    }
  }
  return {
    text,
    suggestions: isOpen ? all : [],
    active,
    choose,
    close,
    submit: () => {
      close()
      apply(text)
    },
    onInput: (next: string, at: number) => {
      setText(next)
      setActive(-1)
      setCaret(/\S$/.test(next.slice(0, at)) ? at : undefined)
    },
    onKeyDown: (event: KeyboardEvent) => {
      const act = actOf(event.key)
      if (!act) return
      event.preventDefault()
      event.stopPropagation()
      act()
    },
  }
}
