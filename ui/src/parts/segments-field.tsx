import { XIcon } from '@primer/octicons-react'
import { useId } from 'react'
import { keys } from '../api/keys.ts'
import { searchSegments } from '../api/segments.ts'
import { flag as words } from '../words/flag.ts'
import { IconButton } from './button.tsx'
import { KeySearch } from './key-search.tsx'
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
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {words.segment}
      </label>
      {value.length > 0 && <Chosen value={value} onChange={onChange} />}
      <KeySearch
        value=""
        onChange={(key) => onChange([...value, key])}
        source={{
          queryKey: keys.segments(namespace),
          read: async (q, signal) => (await searchSegments(namespace, q, signal)).segments,
        }}
        without={value}
        words={{ open: words.openSegments, none: words.noSegment }}
        input={{
          id,
          'aria-invalid': wrong !== undefined || undefined,
          'aria-describedby': wrong === undefined ? undefined : `${id}-wrong`,
        }}
        wide
      />
      {wrong !== undefined && (
        <span className="wrong" id={`${id}-wrong`}>
          {wrong}
        </span>
      )}
    </div>
  )
}
