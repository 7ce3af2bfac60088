import { keys } from '../../api/keys.ts'
import { searchSegments } from '../../api/segments.ts'
import { flag as words } from '../../words/flag.ts'
import { Chips } from '../lists/chips.tsx'
import { KeyField } from './key-field.tsx'

type FieldProps = {
  readonly namespace: string
  readonly value: readonly string[]
  readonly onChange: (keys: readonly string[]) => void
  readonly wrong: string | undefined
}

/** Field to choose several segments; the service is searched while the user types. */
export const SegmentsField = ({ namespace, value, onChange, wrong }: FieldProps) => (
  <KeyField
    label={words.segment}
    wrong={wrong}
    value=""
    onChange={(key) => onChange([...value, key])}
    source={{
      queryKey: keys.segments(namespace),
      read: async (q, signal) => (await searchSegments(namespace, q, signal)).segments,
    }}
    without={value}
    words={{ open: words.openSegments, none: words.noSegment }}
  >
    <Chips
      name={words.chosen}
      values={value}
      removeWords={words.removeSegment}
      onRemove={(gone) => onChange(value.filter((key) => key !== gone))}
    />
  </KeyField>
)
