import { booleanAnswers } from '../../../../src/contract/answers.ts'
import type { Loaded } from '../../api/flags.ts'
import type { Flaws } from '../../parts/editing/editing.ts'
import type { Edited } from '../../parts/editing/editor.tsx'
import { OrderedList } from '../../parts/editing/ordered-list.tsx'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Choices, Select } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { flag as words } from '../../words/flag.ts'
import { variant as variantWords } from '../../words/variant.ts'
import { type Draft, freshId, freshRollout } from './draft.ts'
import { Portions } from './portions.tsx'
import { RolloutEditor } from './rollout-editor.tsx'
import { Rules } from './rules.tsx'
import { keyOf, rolloutSentence } from './sentences.ts'
import { givesOf } from './shares.ts'
import { Variants } from './variants.tsx'
import { WhatEntityGets } from './what-entity-gets.tsx'

/** Ordered list of the rollouts of a flag (ui.md §11.4). */
const Rollouts = ({
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

type Given = Edited<Loaded, Draft> & {
  /** Id of the part whose editor is open. */
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
  /** Whether the page shows a past state. */
  readonly past: boolean
}

/** Field that enables the flag; for a Boolean flag it is the default answer. */
const Enabled = ({ state: { draft, change }, why }: Given) => {
  const { boolean, enabled } = draft
  if (why !== undefined) return <p>{boolean ? words.otherwiseIs(enabled) : words.stateIs(enabled)}</p>
  return (
    <Choices
      label={boolean ? words.otherwise : words.state}
      value={enabled ? 'true' : 'false'}
      options={choicesOf(boolean ? words.answers : words.states)}
      onChange={(next) => change(() => ({ enabled: next === 'true' }))}
    />
  )
}

const DefaultVariant = ({ state: { draft, change }, why }: Given) => {
  const { variants, defaultVariant } = draft
  const none = { value: '', label: variantWords.noDefault }
  if (why !== undefined) {
    const key = defaultVariant === '' ? none.label : keyOf(variants, defaultVariant)
    return (
      <p>
        <Safe text={variantWords.defaultIs(key)} />
      </p>
    )
  }
  return (
    <div className="editor">
      <Select
        label={variantWords.defaultVariant}
        hint={variantWords.defaultHint}
        value={defaultVariant}
        options={[none, ...variants.map(({ id, key }) => ({ value: id, label: key }))]}
        onChange={(next) => change(() => ({ defaultVariant: next }))}
      />
    </div>
  )
}

/** Tab “Targeting”: rollouts of a Boolean flag, variants and rules of a variant flag, and the default. */
export const Targeting = (given: Given) => {
  const { state, ...parts } = given
  const { base, start, draft, change } = state
  const { namespaceKey: namespace } = base.flag
  const gets = given.past ? null : <WhatEntityGets state={state} />
  if (draft.boolean)
    return (
      <div className="stack">
        <Portions name={words.effect} draft={draft} />
        <Rollouts {...parts} namespace={namespace} start={start} rollouts={draft.rollouts} change={change} />
        <Enabled {...given} />
        {gets}
      </div>
    )
  return (
    <div className="stack">
      <Enabled {...given} />
      <Variants {...parts} draft={draft} change={change} />
      <DefaultVariant {...given} />
      <Rules {...parts} namespace={namespace} draft={draft} change={change} />
      {gets}
    </div>
  )
}
