import { useId, useRef } from 'react'
import { Safe, seen } from '../feedback/safe.tsx'
import { described, type FieldTexts, FieldWords } from './field-words.tsx'

type Common = FieldTexts & {
  readonly label: string
}

type TextFieldProps = Common & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: 'text' | 'password' | 'search' | 'date' | 'datetime-local'
  readonly name?: string
  readonly mono?: boolean
  readonly autoFocus?: boolean
  readonly autoComplete?: string
  readonly placeholder?: string
  readonly readOnly?: boolean
  readonly required?: boolean
  /** Whether blanks at the ends of the text have a meaning. */
  readonly exact?: boolean
}

/** Text input with label, hint and validation error. It loses the blanks at the ends of what was typed. */
export const TextField = (props: TextFieldProps) => {
  const id = useId()
  const typed = useRef(false)
  const { label, value, onChange, type = 'text', mono, exact, ...rest } = props
  const settle = () => {
    const text = value.trim()
    if (typed.current && !exact && text !== value) onChange(text)
    typed.current = false
  }
  const { hint: _hint, wrong, notice: _notice, ...input } = rest
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        <Safe text={label} />
      </label>
      <input
        autoComplete="off"
        {...input}
        id={id}
        type={type}
        // Without a step, browsers offer no seconds.
        step={type === 'datetime-local' ? 1 : undefined}
        className={mono ? 'input mono' : 'input'}
        value={value}
        spellCheck={false}
        aria-invalid={wrong !== undefined || undefined}
        aria-describedby={described(id, props)}
        onChange={(event) => {
          typed.current = true
          onChange(event.target.value)
        }}
        onBlur={settle}
        onKeyDown={(event) => event.key === 'Enter' && settle()}
      />
      <FieldWords id={id} {...props} />
    </div>
  )
}

/** Multi-line text input. */
export const TextArea = ({
  rows = 3,
  ...props
}: Common & Pick<TextFieldProps, 'value' | 'onChange' | 'name' | 'mono'> & { readonly rows?: number }) => {
  const id = useId()
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {props.label}
      </label>
      <textarea
        id={id}
        name={props.name}
        rows={rows}
        className={props.mono ? 'input mono' : 'input'}
        value={props.value}
        aria-invalid={props.wrong !== undefined || undefined}
        aria-describedby={described(id, props)}
        onChange={(event) => props.onChange(event.target.value)}
      />
      <FieldWords id={id} {...props} />
    </div>
  )
}

export type Option<V extends string> = { readonly value: V; readonly label: string }

/** Select box. */
export const Select = <V extends string>({
  value,
  onChange,
  options,
  hiddenLabel = false,
  ...props
}: Common & {
  readonly value: V
  readonly onChange: (value: V) => void
  readonly options: readonly Option<V>[]
  readonly hiddenLabel?: boolean
}) => {
  const id = useId()
  return (
    <div className="field">
      <label className={hiddenLabel ? 'visually-hidden' : 'label'} htmlFor={id}>
        {props.label}
      </label>
      <select
        id={id}
        className="input"
        value={value}
        aria-invalid={props.wrong !== undefined || undefined}
        aria-describedby={described(id, props)}
        onChange={(event) => onChange(event.target.value as V)}
      >
        {options.map(({ value, label }) => (
          <option key={value} value={value}>
            {seen(label)}
          </option>
        ))}
      </select>
      <FieldWords id={id} {...props} />
    </div>
  )
}

/** Radio group. */
export const Choices = <V extends string>({
  value,
  onChange,
  options,
  ...props
}: Common & {
  readonly value: V
  readonly onChange: (value: V) => void
  readonly options: readonly Option<V>[]
}) => {
  const id = useId()
  return (
    <div className="field" role="radiogroup" aria-labelledby={`${id}-label`} aria-describedby={described(id, props)}>
      <span className="label" id={`${id}-label`}>
        {props.label}
      </span>
      <div className="choices">
        {options.map((option) => (
          <label className="choice" key={option.value}>
            <input type="radio" name={id} checked={option.value === value} onChange={() => onChange(option.value)} />
            {option.label}
          </label>
        ))}
      </div>
      <FieldWords id={id} {...props} />
    </div>
  )
}

export const Checkbox = ({
  label,
  checked,
  onChange,
  hiddenLabel = false,
  some = false,
}: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
  readonly hiddenLabel?: boolean
  /** Whether it is indeterminate: some of its items are selected. */
  readonly some?: boolean
}) => (
  <label className="choice">
    <input
      type="checkbox"
      checked={checked}
      ref={(box) => {
        if (box) box.indeterminate = some && !checked
      }}
      onChange={(event) => onChange(event.target.checked)}
    />
    <span className={hiddenLabel ? 'visually-hidden' : undefined}>{label}</span>
  </label>
)
