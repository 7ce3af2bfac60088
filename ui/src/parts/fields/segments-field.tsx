import { useId } from 'react'
import { keys } from '../../api/keys.ts'
import { searchSegments } from '../../api/segments.ts'
import { flag as words } from '../../words/flag.ts'
import { Chips } from '../lists/chips.tsx'
import { KeySearch } from './key-search.tsx'

type FieldProps = {
  readonly namespace: string
  readonly value: readonly string[]
  readonly onChange: (keys: readonly string[]) => void
  readonly wrong: string | undefined
}

/** Field to choose several segments; the service is searched while the user types. */
export const SegmentsField = ({ namespace, value, onChange, wrong }: FieldProps) => {
  const id = useId()
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {words.segment}
      </label>
      <Chips
        name={words.chosen}
        values={value}
        removeWords={words.removeSegment}
        onRemove={(gone) => onChange(value.filter((key) => key !== gone))}
      />
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
