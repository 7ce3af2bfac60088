import type { Change } from '../../parts/editing/change-lines.tsx'
import { same } from '../../parts/editing/editing.ts'
import { byId, isMoved } from '../../parts/editing/merge.ts'
import { flag } from '../../words/flag.ts'
import type { Draft } from './draft.ts'
import { metadataOf } from './metadata.ts'
import { keyOf, rolloutSentence, ruleSentence, variantSentence } from './sentences.ts'

const words = flag.change

type Part = { readonly id: string }

/**
 * Changes of an ordered list: removed, changed and added parts, and their order. `before` and `after` format a part of
 * either side.
 */
const orderedChanges = <P extends Part>(
  titles: typeof words.rule,
  base: readonly P[],
  draft: readonly P[],
  before: (part: P, short?: boolean) => string,
  after: (part: P, short?: boolean) => string,
): readonly Change[] => {
  const [old, present] = [byId(base), byId(draft)]
  const changes: Change[] = []
  for (const [n, was] of base.entries()) {
    const is = present.get(was.id)
    if (!is) changes.push({ title: titles.removed(n + 1), before: before(was) })
    else if (!same(was, is)) changes.push({ title: titles.changed(n + 1), before: before(was), after: after(is) })
  }
  for (const is of draft) if (!old.has(is.id)) changes.push({ title: titles.added(), after: after(is) })
  if (isMoved(base, draft))
    changes.push({
      title: titles.order,
      before: words.sequence(base.map((part) => before(part, true))),
      after: words.sequence(draft.map((part) => after(part, true))),
    })
  return changes
}

const variantChanges = (base: Draft, draft: Draft): readonly Change[] => {
  const [old, present] = [byId(base.variants), byId(draft.variants)]
  const gone = base.variants
    .filter(({ id }) => !present.has(id))
    .map((was) => ({ title: words.variant.removed(was.key), before: variantSentence(was) }))
  const others = draft.variants.flatMap((is) => {
    const was = old.get(is.id)
    if (!was) return [{ title: words.variant.added(is.key), after: variantSentence(is) }]
    if (same(was, is)) return []
    const [before, after] = [variantSentence(was, is), variantSentence(is, was)]
    return [{ title: words.variant.changed(was.key), before, after }]
  })
  return [...gone, ...others]
}

const defaultIn = ({ variants, defaultVariant }: Draft): string =>
  defaultVariant === '' ? words.noDefault : keyOf(variants, defaultVariant)

/** Lists the changes of a draft. */
export const changesOf = (base: Draft, draft: Draft): readonly Change[] => {
  const own: Change[] = []
  const add = (title: string, before: string, after: string) => own.push({ title, before, after })
  if (base.name !== draft.name) add(words.name, base.name, draft.name)
  if (base.description !== draft.description) add(words.description, base.description, draft.description)
  if (base.enabled !== draft.enabled) {
    const stateText = (on: boolean) => (draft.boolean ? String(on) : on ? words.on : words.off)
    add(draft.boolean ? words.answer : words.state, stateText(base.enabled), stateText(draft.enabled))
  }
  if (base.defaultVariant !== draft.defaultVariant) add(words.defaultVariant, defaultIn(base), defaultIn(draft))
  if (!same(base.metadata, draft.metadata))
    add(words.metadata, JSON.stringify(metadataOf(base.metadata)), JSON.stringify(metadataOf(draft.metadata)))
  const rollout = (part: Draft['rollouts'][number], short = false) =>
    words.described(rolloutSentence(part), short ? '' : part.description)
  return [
    ...own,
    ...variantChanges(base, draft),
    ...orderedChanges(words.rollout, base.rollouts, draft.rollouts, rollout, rollout),
    ...orderedChanges(
      words.rule,
      base.rules,
      draft.rules,
      (rule) => ruleSentence(rule, base.variants),
      (rule) => ruleSentence(rule, draft.variants),
    ),
  ]
}
