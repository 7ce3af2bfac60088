import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import type { Flaws } from '../../parts/editing/editing.ts'
import { Choices, Select, TextField } from '../../parts/fields/field.tsx'
import { choicesOf } from '../../parts/fields/options.ts'
import { rule as words } from '../../words/variant.ts'
import type { RuleDraft, VariantDraft } from './draft.ts'
import { SegmentsOf } from './segments-of.tsx'
import { keyOf } from './sentences.ts'
import { evenSplit, given, isTooMuch, remainderOf, rowsOf, sumOf, withRest } from './weights.ts'

type Given = {
  readonly rule: RuleDraft
  readonly variants: readonly VariantDraft[]
  readonly flaws: Flaws
  readonly onChange: (part: Partial<RuleDraft>) => void
}

/** Weight fields of all variants, with an even split and the remainder. */
const Weights = ({ rule: { id, shares }, variants, flaws, onChange }: Given) => {
  const rows = rowsOf(
    shares,
    variants.map((variant) => variant.id),
  )
  const rest = remainderOf(shares)
  const tooMuch = isTooMuch(shares) ? words.tooMuch(sumOf(shares)) : flaws[`${id}.weights`]
  const last = rows.indexOf(given(rows).at(-1) ?? rows.at(-1)!)
  return (
    <>
      <div className="weights" role="group" aria-label={words.weights}>
        {rows.map(({ variant, weight }, n) => (
          <TextField
            key={n}
            label={words.weightOf(keyOf(variants, variant))}
            mono
            value={weight}
            wrong={flaws[`${id}.weight.${variant}`] ?? (n === last ? tooMuch : undefined)}
            onChange={(text) => onChange({ shares: rows.with(n, { variant, weight: text }) })}
          />
        ))}
      </div>
      <div className="bar">
        <Button onClick={() => onChange({ shares: evenSplit(rows) })}>{words.even}</Button>
        {rest > 0 && <Button onClick={() => onChange({ shares: withRest(rows) })}>{words.addRest}</Button>}
        {rest > 0 && <span className="notice">{words.remainder(rest)}</span>}
      </div>
      {rest > 0 && given(rows).length > 0 && <p className="muted">{words.engines}</p>}
    </>
  )
}

/** Editor of a rule: its segments, and one variant or weights. */
export const RuleEditor = ({ namespace, ...of }: Given & { readonly namespace: string }) => {
  const { rule, variants, flaws, onChange } = of
  const [first] = given(rule.shares)
  const whole = given(rule.shares).length === 1 && Number(first!.weight) === 100
  const [weighted, setWeighted] = useState(!whole)
  const kind = weighted || !whole ? 'weights' : 'one'
  const give = (variant: string) => onChange({ shares: [{ variant, weight: '100' }] })
  return (
    <div className="editor">
      <SegmentsOf namespace={namespace} part={rule} wrong={flaws[`${rule.id}.segments`]} onChange={onChange} />
      {variants.length === 0 ? (
        <p className="notice">{words.noVariants}</p>
      ) : (
        <>
          <Choices
            label={words.gives}
            value={kind}
            options={choicesOf(words.kinds)}
            onChange={(next) => {
              setWeighted(next === 'weights')
              if (next === 'one') give(first?.variant ?? variants[0]!.id)
            }}
          />
          {kind === 'one' ? (
            <Select
              label={words.variant}
              value={first!.variant}
              options={variants.map(({ id, key }) => ({ value: id, label: key }))}
              onChange={give}
            />
          ) : (
            <Weights {...of} />
          )}
        </>
      )}
    </div>
  )
}
