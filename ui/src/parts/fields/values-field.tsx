import { type ClipboardEvent, type KeyboardEvent, useId, useState } from 'react'
import { common } from '../../words/common.ts'
import { Chips } from '../lists/chips.tsx'
import { described, FieldWords } from './field-words.tsx'

/** Field for a list of texts; pasted text is split at commas and line ends. */
export const ValuesField = ({
  label,
  hint,
  wrong,
  value,
  onChange,
}: {
  readonly label: string
  readonly hint: string
  readonly wrong: string | undefined
  readonly value: readonly string[]
  readonly onChange: (values: readonly string[]) => void
}) => {
  const id = useId()
  const [text, setText] = useState('')
  const add = (texts: readonly string[]) => {
    const given = texts.map((one) => one.trim()).filter((one) => one !== '')
    setText('')
    if (given.length > 0) onChange([...new Set([...value, ...given])])
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    add([text])
  }
  const onPaste = (event: ClipboardEvent) => {
    const pasted = event.clipboardData.getData('text')
    if (!/[,\n\r]/.test(pasted)) return
    event.preventDefault()
    add([text, ...pasted.split(/[,\n\r]/)])
  }
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <Chips
        name={common.entered}
        values={value}
        words={(one) => (one === '' ? common.emptyValue : one)}
        removeWords={common.remove}
        onRemove={(gone) => onChange(value.filter((one) => one !== gone))}
      />
      <input
        id={id}
        className="input"
        value={text}
        autoComplete="off"
        spellCheck={false}
        aria-invalid={wrong !== undefined || undefined}
        aria-describedby={described(id, { hint, wrong })}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => add([text])}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <FieldWords id={id} hint={hint} wrong={wrong} />
    </div>
  )
}
