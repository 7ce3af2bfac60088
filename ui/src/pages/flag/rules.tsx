import type { Flaws } from '../../parts/editing/editing.ts'
import { OrderedList } from '../../parts/editing/ordered-list.tsx'
import type { ChangeDraft } from '../../parts/editing/use-draft.ts'
import { rule as words } from '../../words/variant.ts'
import { type Draft, freshId, freshRule } from './draft.ts'
import { RuleEditor } from './rule-editor.tsx'
import { ruleSentence } from './sentences.ts'

/** Ordered list of the rules of a variant flag. */
export const Rules = ({
  namespace,
  draft: { rules, variants },
  flaws,
  change,
  ...given
}: {
  readonly namespace: string
  readonly draft: Draft
  readonly flaws: Flaws
  readonly why: string | undefined
  readonly change: ChangeDraft<Draft>
  readonly opened: string | undefined
  readonly onOpen: (id: string | undefined) => void
}) => (
  <OrderedList
    {...given}
    words={words}
    parts={rules}
    sentence={(rule) => ruleSentence(rule, variants)}
    fresh={() => freshRule(freshId('rule', rules), variants)}
    onChange={(next) => change((draft) => ({ rules: next(draft.rules) }))}
    renderEditor={(rule, onChange) => (
      <RuleEditor namespace={namespace} rule={rule} variants={variants} flaws={flaws} onChange={onChange} />
    )}
  />
)
