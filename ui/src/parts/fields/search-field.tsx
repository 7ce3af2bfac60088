import { useId } from 'react'
import { useTypedText } from './typed-text.ts'

const PAUSE_MS = 200

/** Search input that calls back after a pause in typing; Escape clears it. */
export const SearchField = ({
  label,
  placeholder,
  value,
  onSearch,
}: {
  readonly label: string
  readonly placeholder?: string
  readonly value: string
  readonly onSearch: (text: string) => void
}) => {
  const id = useId()
  const { text, setText, apply } = useTypedText({
    value,
    pauseMs: PAUSE_MS,
    meaningOf: (typed) => typed.trim(),
    onSend: (typed) => onSearch(typed.trim()),
  })
  return (
    <div className="field">
      <label className="visually-hidden" htmlFor={id}>
        {label}
      </label>
      <input
        id={id}
        type="search"
        className="input"
        placeholder={placeholder ?? label}
        value={text}
        autoComplete="off"
        data-page-search=""
        aria-keyshortcuts="/"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && text !== '') {
            event.stopPropagation()
            setText('')
            apply('')
          }
        }}
      />
    </div>
  )
}
