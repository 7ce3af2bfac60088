import { booleanAnswers } from '../../../../src/contract/answers.ts'
import type { Flaws } from '../../parts/editing/editing.ts'
import { OrderedList } from '../../parts/editing/ordered-list.tsx'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { flag as words } from '../../words/flag.ts'
import { type Draft, freshId, freshRollout } from './draft.ts'
import { RolloutEditor } from './rollout-editor.tsx'
import { rolloutSentence } from './sentences.ts'
import { givesOf } from './shares.ts'

/** Ordered list of the rollouts of a flag (ui.md §11.4). */
export const Rollouts = ({
  namespace,
  start,
  rollouts,
  flaws,
  change,
  ...given
}: {
  readonly namespace: string
  readonly start: Draft
  readonly rollouts: Draft['rollouts']
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
}) => {
  // The default does not affect which rollouts are evaluated.
  const { asked } = booleanAnswers(false, rollouts.map(givesOf))
  const saved = new Set(start.rollouts.map(({ id }) => id))
  return (
    <OrderedList
      {...given}
      words={words.rollout}
      parts={rollouts}
      sentence={rolloutSentence}
      mark={(n) => (n < asked ? '' : words.notAsked)}
      note={({ description }) => description}
      fresh={() => freshRollout(freshId('rollout', rollouts))}
      onChange={(next) => change((draft) => ({ rollouts: next(draft.rollouts) }))}
      renderEditor={(rollout, onChange) => (
        <RolloutEditor
          namespace={namespace}
          fresh={!saved.has(rollout.id)}
          rollout={rollout}
          flaws={flaws}
          onChange={onChange}
        />
      )}
    />
  )
}
