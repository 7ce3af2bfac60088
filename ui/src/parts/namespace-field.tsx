import { useId } from 'react'
import { NamespaceSearch } from './namespace-search.tsx'

/** Chooses a namespace in a form. */
export const NamespaceField = ({
  label,
  value,
  wrong,
  onChange,
}: {
  readonly label: string
  readonly value: string
  readonly wrong: string | undefined
  readonly onChange: (key: string) => void
}) => {
  const id = useId()
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <NamespaceSearch
        value={value}
        onChange={onChange}
        input={{
          id,
          'aria-invalid': wrong !== undefined || undefined,
          'aria-describedby': wrong === undefined ? undefined : `${id}-wrong`,
        }}
      />
      {wrong !== undefined && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  )
}
