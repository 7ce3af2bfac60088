import { useId, useState } from 'react'
import type { EventFilter } from '../../api/event-filters.ts'
import { filterWords as words } from '../../words/history-filters.ts'
import { filterOf, termsIn, textOfFilter } from './filter-text.ts'

/** Search field of the history, whose text is equal to the filters of the address (ui.md §11.8). */
export const SearchHistory = ({
  filter,
  wrong,
  onChange,
}: {
  readonly filter: EventFilter
  readonly wrong: Readonly<Record<string, string>>
  readonly onChange: (filter: EventFilter) => void
}) => {
  const id = useId()
  const canonical = textOfFilter(filter)
  const [text, setText] = useState(canonical)
  const [seen, setSeen] = useState(canonical)
  if (canonical !== seen) {
    setSeen(canonical)
    if (textOfFilter(filterOf(termsIn(text), {})) !== canonical) setText(canonical)
  }
  const { from: _from, to: _to, ...others } = wrong
  return (
    <form
      className="field history-search"
      onSubmit={(event) => {
        event.preventDefault()
        onChange(filterOf(termsIn(text), filter))
      }}
    >
      <label className="label" htmlFor={id}>
        {words.search}
      </label>
      <input
        id={id}
        type="search"
        className="input"
        placeholder={words.searchHint}
        value={text}
        autoComplete="off"
        data-page-search=""
        onChange={(event) => setText(event.target.value)}
      />
      {Object.values(others).map((why) => (
        <span key={why} className="wrong">
          {why}
        </span>
      ))}
    </form>
  )
}
