import type { Op } from '../../api/flags.ts'
import { same } from '../../parts/editing/editing.ts'
import { byId, isMoved } from '../../parts/editing/merge.ts'
import type { BySegments, Draft, RolloutDraft, RuleDraft, VariantDraft } from './draft.ts'
import { metadataOf } from './metadata.ts'

const segmentFields = ({ segments, match }: BySegments) => ({
  segmentKeys: segments,
  segmentOperator: match === 'all' ? 'AND_SEGMENT_OPERATOR' : 'OR_SEGMENT_OPERATOR',
})

const rolloutFields = (rollout: RolloutDraft) => ({
  description: rollout.description,
  ...(rollout.kind === 'threshold'
    ? { threshold: { percentage: Number(rollout.percentage), value: rollout.value } }
    : { segment: { ...segmentFields(rollout), value: rollout.value } }),
})

const ruleFields = (rule: RuleDraft) => ({
  ...segmentFields(rule),
  distributions: rule.shares.map(({ variant, weight }) => ({ variantId: variant, rollout: Number(weight) })),
})

/** Changed fields of a variant; an unchanged attachment is not sent again, because it may be large. */
const variantFields = ({ id: _id, ...is }: VariantDraft, was: VariantDraft) =>
  Object.fromEntries(Object.entries(is).filter(([name, value]) => value !== was[name as keyof VariantDraft]))

/** Operation with the id of the part that it concerns, or `flag`. */
type About = readonly [string, Op]

const variantOps = (base: Draft, draft: Draft): readonly About[] => {
  const [before, after] = [byId(base.variants), byId(draft.variants)]
  // Delete first, because another variant may reuse the key.
  const gone = base.variants.filter(({ id }) => !after.has(id))
  return [
    ...gone.map(({ id }): About => [id, { op: 'variant.delete', id }]),
    ...draft.variants.flatMap((is): readonly About[] => {
      const { id, ...fields } = is
      const was = before.get(id)
      if (!was) return [[id, { op: 'variant.create', ref: id, ...fields }]]
      return same(was, is) ? [] : [[id, { op: 'variant.update', id, ...variantFields(is, was) }]]
    }),
  ]
}

const ownOps = (base: Draft, draft: Draft): readonly About[] => {
  const own = {
    ...(base.name !== draft.name && { name: draft.name.trim() }),
    ...(base.description !== draft.description && { description: draft.description }),
    ...(base.enabled !== draft.enabled && { enabled: draft.enabled }),
    ...(base.defaultVariant !== draft.defaultVariant && { defaultVariantId: draft.defaultVariant }),
    ...(!same(base.metadata, draft.metadata) && { metadata: metadataOf(draft.metadata) }),
  }
  return Object.keys(own).length === 0 ? [] : [['flag', { op: 'flag.update', ...own }]]
}

/** Operations on an ordered list. */
const orderedOps = <P extends { readonly id: string }>(
  thing: 'rollout' | 'rule',
  base: readonly P[],
  draft: readonly P[],
  fields: (part: P) => object,
): readonly About[] => {
  const [before, after] = [byId(base), byId(draft)]
  const about = (id: string, op: object): About => [id, op as Op]
  const sent: About[] = []
  for (const { id } of base) if (!after.has(id)) sent.push(about(id, { op: `${thing}.delete`, id }))
  for (const is of draft) {
    const was = before.get(is.id)
    if (!was) sent.push(about(is.id, { op: `${thing}.create`, ref: is.id, ...fields(is) }))
    else if (!same(was, is)) sent.push(about(is.id, { op: `${thing}.update`, id: is.id, ...fields(is) }))
  }
  if (isMoved(base, draft)) sent.push(about('flag', { op: `${thing}.order`, ids: draft.map(({ id }) => id) }))
  return sent
}

/** Operations, and for each the part that it concerns. */
type Sent = { readonly ops: readonly Op[]; readonly about: readonly string[] }

/** Operations that turn the flag into the draft, in the order in which the service applies them. */
export const sentOf = (base: Draft, draft: Draft): Sent => {
  const sent = [
    ...variantOps(base, draft),
    ...ownOps(base, draft),
    ...orderedOps('rollout', base.rollouts, draft.rollouts, rolloutFields),
    ...orderedOps('rule', base.rules, draft.rules, ruleFields),
  ]
  return { ops: sent.map(([, op]) => op), about: sent.map(([about]) => about) }
}
