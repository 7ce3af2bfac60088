import { type KeyboardEvent, type RefObject, useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { useTypedText } from '../../parts/fields/typed-text.ts'
import { filterOf, type Term, termsIn, textOfFilter } from './filter-text.ts'
import { isComplete, type Suggestion, useSuggestions, wordBefore } from './suggestions.ts'

const PAUSE_MS = 400

/** Text of the filter that a typed text means. */
const meaningOf = (text: string): string => textOfFilter(filterOf(termsIn(text), {}))

/**
 * State of the search field of the history: its text, and the suggestions for the word before the caret. `active` is
 * the highlighted suggestion, or −1.
 */
export const useSearchText = (
  filter: EventFilter,
  onChange: (terms: readonly Term[]) => void,
  input: RefObject<HTMLInputElement | null>,
) => {
  const { text, setText, apply } = useTypedText({
    value: textOfFilter(filter),
    pauseMs: PAUSE_MS,
    meaningOf,
    isComplete,
    onSend: (typed) => onChange(termsIn(typed)),
  })
  const [caret, setCaret] = useState<number | undefined>()
  const [active, setActive] = useState(-1)
  const word = caret === undefined ? undefined : wordBefore(text, caret)
  const all = useSuggestions(word, text)
  const isOpen = word !== undefined && all.length > 0
  const close = () => {
    setCaret(undefined)
    setActive(-1)
  }
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
