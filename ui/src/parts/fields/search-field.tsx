import { useEffect, useId, useState } from 'react'

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
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  useEffect(() => {
    if (text === value) return undefined
    const timer = window.setTimeout(() => onSearch(text), PAUSE_MS)
    return () => window.clearTimeout(timer)
  }, [text, value, onSearch])
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
            onSearch('')
          }
        }}
      />
    </div>
  )
}
