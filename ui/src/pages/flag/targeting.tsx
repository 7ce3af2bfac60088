import type { Loaded } from '../../api/flags.ts'
import type { Edited } from '../../parts/editing/editor.tsx'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Choices, Select } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { flag as words } from '../../words/flag.ts'
import { variant as variantWords } from '../../words/variant.ts'
import type { Draft } from './draft.ts'
import { Portions } from './portions.tsx'
import { Rollouts } from './rollouts.tsx'
import { Rules } from './rules.tsx'
import { keyOf } from './sentences.ts'
import { Variants } from './variants.tsx'
import { WhatEntityGets } from './what-entity-gets.tsx'

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
