import { useId, useRef } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { filterWords as words } from '../../words/history-filters.ts'
import type { Term } from './filter-text.ts'
import type { Suggestion } from './suggestions.ts'
import { useSearchText } from './use-search.ts'

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
  <div id={id} role="listbox" aria-label={words.suggestions} className="popup history-suggestions">
    {all.map((one, n) => (
      <button
        key={one.text}
        id={`${id}-${n}`}
        type="button"
        role="option"
        tabIndex={-1}
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
      </button>
    ))}
  </div>
)

/** Search field of the history, whose text is equal to the filters of the address (ui.md §11.8). */
export const SearchHistory = ({
  filter,
  wrong,
  onChange,
}: {
  readonly filter: EventFilter
  /** Explanations of the filters that the service refuses. */
  readonly wrong: readonly string[]
  readonly onChange: (terms: readonly Term[]) => void
}) => {
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const { text, suggestions, active, choose, close, submit, onInput, onKeyDown } = useSearchText(
    filter,
    onChange,
    input,
  )
  const isOpen = suggestions.length > 0
  const isWrong = wrong.length > 0
  return (
    <form
      className="field history-search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
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
          aria-invalid={isWrong || undefined}
          aria-describedby={isWrong ? `${id}-wrong` : undefined}
          onChange={({ target }) => onInput(target.value, target.selectionStart ?? target.value.length)}
          onKeyDown={onKeyDown}
          onBlur={close}
        />
        {isOpen && <Suggestions id={`${id}-list`} all={suggestions} active={active} onChoose={choose} />}
      </div>
      <span role="status" className="visually-hidden">
        {isOpen && words.suggested(suggestions.length)}
      </span>
      {isWrong && (
        <span className="wrong" id={`${id}-wrong`}>
          <Safe text={wrong.join(' ')} />
        </span>
      )}
    </form>
  )
}
