import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { filterWords as words } from '../../words/history-filters.ts'
import { filterOf, termsIn, textOfFilter } from './filter-text.ts'
import { isComplete, type Suggestion, useSuggestions, wordBefore } from './suggestions.ts'

const PAUSE_MS = 400

/** Listbox of the suggestions below the search field. */
const Suggestions = ({
  id,
  all,
  active,
  onChoose,
}: {
  readonly id: string
  readonly all: readonly Suggestion[]
  readonly active: number
  readonly onChoose: (suggestion: Suggestion) => void
}) => (
  <ul id={id} role="listbox" aria-label={words.suggestions} className="popup history-suggestions">
    {all.map((one, n) => (
      <li
        key={one.text}
        id={`${id}-${n}`}
        role="option"
        aria-selected={n === active}
        data-highlighted={n === active ? '' : undefined}
        className="item"
        // The field keeps the focus.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onChoose(one)}
      >
        <span className="found">
          <Safe text={one.label} />
          {one.about !== undefined && (
            <span className="muted small">
              <Safe text={one.about} />
            </span>
          )}
        </span>
      </li>
    ))}
  </ul>
)

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

/** Search field of the history, whose text is equal to the filters of the address (ui.md §11.8). */
export const SearchHistory = ({
  filter,
  wrong,
  onChange,
}: {
  readonly filter: EventFilter
  /** Explanations of the filters that the service refuses. */
  readonly wrong: readonly string[]
  readonly onChange: (filter: EventFilter) => void
}) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
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
  const latest = useRef(apply)
  useEffect(() => {
    latest.current = apply
  })
  useEffect(() => {
    if (!isComplete(text)) return undefined
    const timer = window.setTimeout(() => latest.current(text), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [text])

  const choose = (suggestion: Suggestion) => {
    if (!word || caret === undefined) return
    const next = text.slice(0, word.start) + suggestion.text + text.slice(caret).trimStart()
    setText(next)
    setActive(-1)
    const isName = suggestion.text.endsWith(':')
    setCaret(isName ? word.start + suggestion.text.length : undefined)
    if (!isName) apply(next)
    input.current?.focus()
  }
  const clear = () => {
    setText('')
    apply('')
  }
  const act = (key: string): (() => void) | undefined => {
    if (key === 'ArrowDown' && !isOpen) return () => setCaret(input.current?.selectionStart ?? text.length)
    if (key === 'ArrowDown') return () => setActive((active + 1) % all.length)
    if (key === 'ArrowUp' && isOpen) return () => setActive((active <= 0 ? all.length : active) - 1)
    if (key === 'Enter' && isOpen && all[active]) return () => choose(all[active]!)
    if (key === 'Escape' && isOpen) return close
    return key === 'Escape' && text !== '' ? clear : undefined
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const does = act(event.key)
    if (!does) return
    event.preventDefault()
    event.stopPropagation()
    does()
  }
  return (
    <form
      className="field history-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        close()
        apply(text)
      }}
    >
      <label className="label" htmlFor={id}>
        {words.search}
      </label>
      <div className="history-field">
        <input
          id={id}
          ref={input}
          type="search"
          className="input"
          placeholder={words.searchHint}
          value={text}
          autoComplete="off"
          spellCheck={false}
          data-page-search=""
          aria-keyshortcuts="/"
          aria-autocomplete="list"
          aria-controls={isOpen ? `${id}-list` : undefined}
          aria-activedescendant={isOpen && active >= 0 ? `${id}-list-${active}` : undefined}
          aria-invalid={wrong.length > 0 || undefined}
          aria-describedby={wrong.length > 0 ? `${id}-wrong` : undefined}
          onChange={({ target }) => {
            setText(target.value)
            setActive(-1)
            const at = target.selectionStart ?? target.value.length
            setCaret(/\S$/.test(target.value.slice(0, at)) ? at : undefined)
          }}
          onKeyDown={onKeyDown}
          onBlur={close}
        />
        {isOpen && <Suggestions id={`${id}-list`} all={all} active={active} onChoose={choose} />}
      </div>
      <span role="status" className="visually-hidden">
        {isOpen && words.suggested(all.length)}
      </span>
      {wrong.length > 0 && (
        <span className="wrong" id={`${id}-wrong`}>
          <Safe text={wrong.join(' ')} />
        </span>
      )}
    </form>
  )
}
