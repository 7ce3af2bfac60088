import { type ComponentProps, type ReactNode, useId } from 'react'
import { described, FieldWords } from './field-words.tsx'
import { KeySearch } from './key-search.tsx'

/** Field with label and validation error around a search for keys. `children` stand above the search. */
export const KeyField = ({
  label,
  wrong,
  children,
  ...search
}: Omit<ComponentProps<typeof KeySearch>, 'input' | 'wide'> & {
  readonly label: string
  readonly wrong: string | undefined
  readonly children?: ReactNode
}) => {
  const id = useId()
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      {children}
      <KeySearch
        {...search}
        input={{
          id,
          'aria-invalid': wrong !== undefined || undefined,
          'aria-describedby': described(id, { wrong }),
        }}
        wide
      />
      <FieldWords id={id} wrong={wrong} />
    </div>
  )
}
