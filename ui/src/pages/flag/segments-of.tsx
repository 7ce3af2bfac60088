import { Choices } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { SegmentsField } from '../../parts/fields/segments-field.tsx'
import { flag as words } from '../../words/flag.ts'
import type { BySegments } from './draft.ts'

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
