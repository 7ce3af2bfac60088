import { useId } from 'react'
import type { Flaws } from '../../parts/editing/editing.ts'
import { Choices, TextField } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { flag as words } from '../../words/flag.ts'
import type { RolloutDraft } from './draft.ts'
import { SegmentsOf } from './segments-of.tsx'

type Given = {
  readonly rollout: RolloutDraft
  readonly flaws: Flaws
  readonly onChange: (part: Partial<RolloutDraft>) => void
}

const Percentage = ({ rollout: { id, percentage }, flaws, onChange }: Given) => {
  const slider = useId()
  const number = Math.min(100, Math.max(0, Number(percentage) || 0))
  return (
    <div className="percentage">
      <div>
        <label className="visually-hidden" htmlFor={slider}>
          {words.slider}
        </label>
        <input
          id={slider}
          type="range"
          min={0}
          max={100}
          value={number}
          aria-valuetext={words.percent(String(number))}
          onChange={(event) => onChange({ percentage: event.target.value })}
        />
      </div>
      <TextField
        label={words.percentage}
        mono
        value={percentage}
        wrong={flaws[`${id}.percentage`]}
        onChange={(text) => onChange({ percentage: text })}
      />
    </div>
  )
}

/** Editor of a rollout. The kind of a rollout can be chosen only before it is saved. */
export const RolloutEditor = ({
  namespace,
  fresh,
  ...given
}: Given & { readonly namespace: string; readonly fresh: boolean }) => {
  const { rollout, flaws, onChange } = given
  const { id, kind, value, description } = rollout
  return (
    <div className="editor">
      {fresh && (
        <Choices
          label={words.appliesTo}
          value={kind}
          options={choicesOf(words.kinds)}
          onChange={(next) => onChange({ kind: next })}
        />
      )}
      {kind === 'threshold' ? (
        <Percentage {...given} />
      ) : (
        <SegmentsOf namespace={namespace} part={rollout} wrong={flaws[`${id}.segments`]} onChange={onChange} />
      )}
      <Choices
        label={words.answer}
        value={value ? 'true' : 'false'}
        options={choicesOf(words.answers)}
        onChange={(next) => onChange({ value: next === 'true' })}
      />
      <TextField
        label={words.description}
        value={description}
        wrong={flaws[`${id}.description`]}
        onChange={(next) => onChange({ description: next })}
      />
    </div>
  )
}
