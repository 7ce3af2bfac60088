import { useId } from 'react'
import { described, FieldWords } from './field-words.tsx'
import { NamespaceSearch } from './namespace-search.tsx'

/** Field to choose a namespace; `all` is the label of the option that chooses none. */
export const NamespaceField = ({
  label,
  value,
  hiddenLabel = false,
  wrong,
  all,
  onChange,
}: {
  readonly label: string
  readonly hiddenLabel?: boolean
  readonly value: string
  readonly wrong?: string | undefined
  readonly all?: string
  readonly onChange: (key: string) => void
}) => {
  const id = useId()
  return (
    <div className="field">
      <label className={hiddenLabel ? 'visually-hidden' : 'label'} htmlFor={id}>
        {label}
      </label>
      <NamespaceSearch
        value={value}
        onChange={onChange}
        {...(all !== undefined && { all })}
        input={{
          id,
          'aria-invalid': wrong !== undefined || undefined,
          'aria-describedby': described(id, { wrong }),
        }}
      />
      <FieldWords id={id} wrong={wrong} />
    </div>
  )
}
