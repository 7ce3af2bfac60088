import { keys } from '../../api/keys.ts'
import { searchSegments } from '../../api/segments.ts'
import { Choices } from '../../parts/fields/field.tsx'
import { KeyField } from '../../parts/fields/key-field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { Chips } from '../../parts/lists/chips.tsx'
import { flag as words } from '../../words/flag.ts'
import type { BySegments } from './draft.ts'

type FieldProps = {
  readonly namespace: string
  readonly value: readonly string[]
  readonly onChange: (keys: readonly string[]) => void
  readonly wrong: string | undefined
}

/** Field to choose several segments; the service is searched while the user types. */
const SegmentsField = ({ namespace, value, onChange, wrong }: FieldProps) => (
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

/** Fields for the segments of a rollout or rule, and whether any or all must match. */
export const SegmentsOf = ({
  namespace,
  part: { segments, match },
  wrong,
  onChange,
}: {
  readonly namespace: string
  readonly part: BySegments
  readonly wrong: string | undefined
  readonly onChange: (change: Partial<BySegments>) => void
}) => (
  <>
    <SegmentsField
      namespace={namespace}
      value={segments}
      wrong={wrong}
      onChange={(next) => onChange({ segments: next })}
    />
    <Choices
      label={words.match}
      value={match}
      options={choicesOf(words.matches)}
      onChange={(next) => onChange({ match: next })}
    />
  </>
)
