import { PlusIcon, TrashIcon } from '@primer/octicons-react'
import { useEffect, useRef, useState } from 'react'
import { Button, IconButton } from '../../parts/button.tsx'
import type { Flaws } from '../../parts/editing/editing.ts'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { Safe } from '../../parts/feedback/safe.tsx'
import { Select, TextArea, TextField } from '../../parts/fields/field.tsx'
import { type ComparisonType, operators } from '../../words/operators.ts'
import { segment as words } from '../../words/segments.ts'
import { sentenceOf } from './changes.ts'
import { type ConstraintDraft, type Draft, freshConstraint, withOperator, withType } from './draft.ts'
import { ValueField } from './value-field.tsx'

const types = (Object.entries(words.types) as [ComparisonType, string][])
  .filter(([value]) => value !== 'UNKNOWN_COMPARISON_TYPE')
  .map(([value, label]) => ({ value, label }))
const operatorsOf = (type: ComparisonType) =>
  Object.entries(operators[type]).map(([value, label]) => ({ value, label }))

const Sentence = ({ words: { before, strong, after } }: { readonly words: ReturnType<typeof words.sentence> }) => (
  <>
    {before} <strong>{strong}</strong> {after}
  </>
)

type RowProps = {
  readonly constraint: ConstraintDraft
  readonly n: number
  readonly flaws: Flaws
  readonly onChange: (next: ConstraintDraft) => void
  readonly onRemove: () => void
}

/** Fields of a constraint. `n` counts from 0. */
const Row = ({ constraint, n, flaws, onChange, onRemove }: RowProps) => {
  const { id, type, property, operator, description } = constraint
  return (
    <li className="card constraint">
      <Select
        label={words.type}
        value={type}
        options={types}
        onChange={(next) => onChange(withType(constraint, next))}
      />
      <TextField
        label={words.property}
        mono
        readOnly={type === 'ENTITY_ID_COMPARISON_TYPE'}
        value={property}
        wrong={flaws[`${id}.property`]}
        onChange={(next) => onChange({ ...constraint, property: next })}
      />
      <Select
        label={words.operator}
        value={operator}
        options={operatorsOf(type)}
        onChange={(next) => onChange(withOperator(constraint, next))}
      />
      <ValueField
        constraint={constraint}
        wrong={flaws[`${id}.value`]}
        onChange={(part) => onChange({ ...constraint, ...part })}
      />
      <TextArea
        label={words.description}
        rows={1}
        value={description}
        wrong={flaws[`${id}.description`]}
        onChange={(next) => onChange({ ...constraint, description: next })}
      />
      <IconButton name={words.drop(n + 1)} icon={<TrashIcon />} onClick={onRemove} />
    </li>
  )
}

/** Editor of the constraints of a segment. */
export const Constraints = ({
  draft: { match, constraints },
  flaws,
  why,
  change,
}: {
  readonly draft: Draft
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
}) => {
  const list = useRef<HTMLUListElement>(null)
  const fresh = useRef(0)
  const [focus, setFocus] = useState<{ readonly n: number } | undefined>()
  useEffect(() => {
    if (!focus) return
    const row = list.current?.children[focus.n]
    const place = row ?? list.current?.parentElement
    place?.querySelector<HTMLElement>(row ? 'input, select' : 'h2')?.focus()
  }, [focus])
  const add = () => {
    const known = new Set(constraints.map(({ id }) => id))
    let next = freshConstraint(++fresh.current)
    while (known.has(next.id)) next = freshConstraint(++fresh.current)
    change((draft) => ({ constraints: [...draft.constraints, next] }))
    setFocus({ n: constraints.length })
  }
  return (
    <section className="stack">
      <h2 tabIndex={-1}>{words.constraints}</h2>
      <p>{constraints.length === 0 ? words.noConstraints : <Sentence words={words.sentence(match === 'all')} />}</p>
      <ul ref={list} className="parts" aria-label={words.constraints}>
        {constraints.map((constraint, n) =>
          why === undefined ? (
            <Row
              key={constraint.id}
              constraint={constraint}
              n={n}
              flaws={flaws}
              onChange={(next) => change((draft) => ({ constraints: draft.constraints.with(n, next) }))}
              onRemove={() => {
                change((draft) => ({ constraints: draft.constraints.toSpliced(n, 1) }))
                setFocus({ n })
              }}
            />
          ) : (
            <li key={constraint.id} className="card bar">
              <span className="badge bare">{words.types[constraint.type]}</span>
              <Safe text={sentenceOf(constraint)} />
              {constraint.description !== '' && (
                <p className="described muted small">
                  <Safe text={constraint.description} />
                </p>
              )}
            </li>
          ),
        )}
      </ul>
      <div>
        <Button why={why} onClick={add}>
          <PlusIcon />
          {words.add}
        </Button>
      </div>
    </section>
  )
}
