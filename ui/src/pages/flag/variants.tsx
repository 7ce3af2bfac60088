import type { Flag, Loaded, Rule } from '../../api/flags.ts'
import { Safe } from '../../parts/safe.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { flag as words } from '../../words/flag.ts'

type Variant = Flag['variants'][number]

const columnsOf = (defaultId: string | undefined): readonly Column<Variant>[] => [
  {
    key: 'key',
    head: words.variant.key,
    cell: ({ id, key }) => (
      <span className="bar">
        <Safe text={key} />
        {id === defaultId && <span className="badge bare">{words.variant.default}</span>}
      </span>
    ),
  },
  { key: 'name', head: words.variant.name, cell: ({ name }) => <Safe text={name} /> },
  { key: 'description', head: words.variant.description, cell: ({ description }) => <Safe text={description} /> },
]

/** The variants that a flag gives one of. */
export const Variants = ({ flag: { variants, defaultVariant } }: { readonly flag: Flag }) => (
  <section className="stack">
    <h2>{words.variant.many}</h2>
    {variants.length === 0 ? (
      <p className="muted">{words.variant.none}</p>
    ) : (
      <Table
        name={words.variant.many}
        columns={columnsOf(defaultVariant?.id)}
        rows={variants}
        rowKey={({ id }) => id}
        heads="key"
      />
    )}
  </section>
)

const sentenceOf = ({ segmentKey, segmentKeys, segmentOperator, distributions }: Rule, { variants }: Flag): string => {
  const keyOf = (id: string) => variants.find((variant) => variant.id === id)?.key ?? id
  return words.rule.sentence(
    segmentKey === '' ? segmentKeys : [segmentKey],
    segmentOperator === 'AND_SEGMENT_OPERATOR',
    distributions.map(({ variantId, rollout }) => words.rule.weight(keyOf(variantId), String(rollout))),
  )
}

/** The rules of a variant flag, in their order. */
export const Rules = ({ loaded: { flag, rules } }: { readonly loaded: Loaded }) => (
  <section className="stack">
    <h2>{words.rule.many}</h2>
    {rules.length === 0 && <p className="muted">{words.rule.none}</p>}
    <ol className="parts" aria-label={words.rule.many}>
      {rules.map((rule, n) => (
        <li key={rule.id} className="card part">
          <div className="bar">
            <span className="position" aria-hidden="true">
              {n + 1}
            </span>
            <h3>
              <Safe text={sentenceOf(rule, flag)} />
            </h3>
          </div>
        </li>
      ))}
    </ol>
  </section>
)
