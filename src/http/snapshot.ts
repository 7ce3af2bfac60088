import type { ConstraintType } from '../evaluation/flag.ts'
import type { Catalog } from '../projections/catalog.ts'
import type { DistributionDoc, FlagDoc, RolloutDoc, RuleDoc } from '../projections/flags.ts'
import type { ConstraintDoc, SegmentDoc } from '../projections/segments.ts'
import { flagTypes, rolloutTypes, segmentOperators } from './enums.ts'
import { shortFloat32 } from './float32.ts'

/** What the evaluating client can read (api.md §9): older ones know no constraints on the entity's id, or no default variant. */
export type Form = { readonly tag: string; readonly entityId: boolean; readonly defaultVariant: boolean }

const matchTypes = { all: 'ALL_SEGMENT_MATCH_TYPE', any: 'ANY_SEGMENT_MATCH_TYPE' } as const
const constraintTypes: Readonly<Record<ConstraintType, string>> = {
  string: 'STRING_CONSTRAINT_COMPARISON_TYPE',
  number: 'NUMBER_CONSTRAINT_COMPARISON_TYPE',
  boolean: 'BOOLEAN_CONSTRAINT_COMPARISON_TYPE',
  datetime: 'DATETIME_CONSTRAINT_COMPARISON_TYPE',
  entityId: 'ENTITY_ID_CONSTRAINT_COMPARISON_TYPE',
}
const unknownType = 'UNKNOWN_CONSTRAINT_COMPARISON_TYPE'

/** The snapshot of a namespace for clients that evaluate by themselves: all flags in list order, each rule once. */
export const snapshotOf = ({ flags, segment }: Pick<Catalog<unknown>, 'flags' | 'segment'>, namespace: string, form: Form) => {
  const constraintOf = ({ id, type, property, operator, value }: ConstraintDoc) => {
    const known = type !== 'entityId' || form.entityId
    return { id, type: known ? constraintTypes[type] : unknownType, property, operator, value }
  }
  const segmentOf = ({ key, name, description, matchType, createdAt, updatedAt, constraints }: SegmentDoc) => {
    const shown = { key, name, description, matchType: matchTypes[matchType], createdAt, updatedAt }
    return { ...shown, constraints: constraints.map(constraintOf) }
  }
  const made = new Map<string, ReturnType<typeof segmentOf> | undefined>()
  const segmentsOf = (keys: readonly string[]) =>
    keys.flatMap((key) => {
      const doc = made.has(key) ? undefined : segment(namespace, key)?.doc
      if (!made.has(key)) made.set(key, doc && segmentOf(doc))
      return made.get(key) ?? []
    })

  const distributionOf = ({ variants }: FlagDoc, ruleId: string, { id, variantId, rollout }: DistributionDoc) => {
    const variant = variants.find((one) => one.id === variantId)
    if (!variant) return []
    return [{ id, ruleId, variantId, variantKey: variant.key, variantAttachment: variant.attachment, rollout: shortFloat32(rollout) }]
  }
  const ruleOf = (flag: FlagDoc, { id, segments, rank, operator, distributions }: RuleDoc) => ({
    id,
    segments: segmentsOf(segments),
    rank,
    segmentOperator: segmentOperators.wire[operator],
    distributions: distributions.flatMap((part) => distributionOf(flag, id, part)),
  })
  const rolloutOf = (rollout: RolloutDoc) => {
    const { type, rank, value } = rollout
    const shown = { type: rolloutTypes.wire[type], rank }
    if (rollout.type === 'threshold') return { ...shown, threshold: { percentage: shortFloat32(rollout.percentage), value } }
    const segmentOperator = segmentOperators.wire[rollout.operator]
    return { ...shown, segment: { value, segmentOperator, segments: segmentsOf(rollout.segments) } }
  }
  const flagOf = (flag: FlagDoc) => {
    const { key, name, description, enabled, type, createdAt, updatedAt, rules, rollouts, variants, defaultVariantId } = flag
    const chosen = form.defaultVariant ? variants.find(({ id }) => id === defaultVariantId) : undefined
    const shown = { key, name, description, enabled, type: flagTypes.wire[type], createdAt, updatedAt }
    return {
      ...shown,
      rules: rules.map((rule) => ruleOf(flag, rule)),
      rollouts: rollouts.map(rolloutOf),
      ...(chosen && { defaultVariant: { id: chosen.id, key: chosen.key, attachment: chosen.attachment } }),
    }
  }
  return { namespace: { key: namespace }, flags: flags(namespace).map(({ doc }) => flagOf(doc)) }
}
