import { Combobox } from '@base-ui/react/combobox'
import { ChevronDownIcon, XIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState } from 'react'
import { keys } from '../api/keys.ts'
import { searchSegments } from '../api/segments.ts'
import { flag as words } from '../words/flag.ts'
import { IconButton } from './button.tsx'
import { FoundKeys } from './found-keys.tsx'
import { Safe } from './safe.tsx'

type FieldProps = {
  readonly namespace: string
  readonly value: readonly string[]
  readonly onChange: (keys: readonly string[]) => void
  readonly wrong: string | undefined
}

const Chosen = ({ value, onChange }: Pick<FieldProps, 'value' | 'onChange'>) => (
  <ul className="bar" aria-label={words.chosen}>
    {value.map((key) => (
      <li key={key} className="badge bare">
        <Safe text={key} />
        <IconButton
          name={words.removeSegment(key)}
          icon={<XIcon size={12} />}
          look="icon plain"
          onClick={() => onChange(value.filter((other) => other !== key))}
        />
      </li>
    ))}
  </ul>
)

/** Chooses segments, one after the other; they are searched at the service as one types. */
export const SegmentsField = ({ namespace, value, onChange, wrong }: FieldProps) => {
  const id = useId()
  const [open, setOpen] = useState(false)
  const [typed, setTyped] = useState('')
  const asked = useDeferredValue(typed)
  const { data } = useQuery({
    queryKey: [...keys.segments(namespace), 'search', asked],
    queryFn: ({ signal }) => searchSegments(namespace, asked, signal),
    enabled: open,
    placeholderData: (before) => before,
  })
  const found = (data?.segments ?? []).map(({ key }) => key).filter((key) => !value.includes(key))
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {words.segment}
      </label>
      {value.length > 0 && <Chosen value={value} onChange={onChange} />}
      <Combobox.Root
        items={found}
        filter={null}
        open={open}
        onOpenChange={(next) => {
          setOpen(next)
          setTyped('')
        }}
        value={null}
        inputValue={typed}
        onInputValueChange={(text, { reason }) => {
          if (reason === 'input-change') setTyped(text)
        }}
        onValueChange={(key: string | null) => {
          if (key !== null) onChange([...value, key])
        }}
      >
        <div className="picker wide">
          <Combobox.Input
            id={id}
            className="input"
            aria-invalid={wrong !== undefined || undefined}
            aria-describedby={wrong === undefined ? undefined : `${id}-wrong`}
          />
          <Combobox.Trigger className="button icon plain" aria-label={words.openSegments} tabIndex={-1}>
            <ChevronDownIcon />
          </Combobox.Trigger>
        </div>
        <FoundKeys none={words.noSegment} />
      </Combobox.Root>
      {wrong !== undefined && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  )
}
