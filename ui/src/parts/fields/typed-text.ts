import { useEffect, useEffectEvent, useState } from 'react'

const itself = (text: string): string => text

/**
 * Text of a search field whose meaning is a value of the address. `apply` sends a text to the address, and a pause in
 * typing does it too. The text follows each other change of the value, except while it means the same. The address
 * changes some time after `onSend`, so a value that was sent does not replace what was typed since.
 */
export const useTypedText = ({
  value,
  pauseMs,
  meaningOf = itself,
  isComplete,
  onSend,
}: {
  readonly value: string
  readonly pauseMs: number
  readonly meaningOf?: (text: string) => string
  /** Whether a pause may send a text. Absent if it may send every text. */
  readonly isComplete?: (text: string) => boolean
  readonly onSend: (text: string) => void
}) => {
  const [text, setText] = useState(value)
  /** The value of the address, then the values that were sent since. */
  const [values, setValues] = useState([value])
  if (value !== values[0]) {
    const at = values.indexOf(value)
    setValues(at < 0 ? [value] : values.slice(at))
    if (at < 0 && meaningOf(text) !== value) setText(value)
  }
  const apply = (next: string): void => {
    const meaning = meaningOf(next)
    if (meaning === values.at(-1)) return
    setValues([...values, meaning])
    onSend(next)
  }
  const paused = useEffectEvent((typed: string) => {
    if (isComplete?.(typed) !== false) apply(typed)
  })
  useEffect(() => {
    const timer = window.setTimeout(() => paused(text), pauseMs)
    return () => window.clearTimeout(timer)
  }, [text, pauseMs])
  return { text, setText, apply }
}
