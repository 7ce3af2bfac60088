import { Type } from 'typebox'
import type { SegmentOperator } from '../../events/flag.ts'
import type { DistributionDoc, FlagDoc, RolloutDoc, RuleDoc, VariantDoc } from '../../projections/flags.ts'
import { flagTypes, rolloutTypes, segmentOperators } from '../../contract/enums.ts'
import { shortFloat32 } from '../../contract/float32.ts'

const Text = Type.String()
const times = { createdAt: Type.String({ format: 'date-time' }), updatedAt: Type.String({ format: 'date-time' }) }
const ofFlag = { flagKey: Text, namespaceKey: Text }
const bySegments = {
  segmentKey: Text,
  segmentKeys: Type.Array(Text),
  segmentOperator: Type.Enum(segmentOperators.names),
}

/** The resources of a flag as clients see them (api.md §7.2). */
export const Variant = Type.Object({
  id: Text,
  ...ofFlag,
  key: Text,
  name: Text,
  description: Text,
  attachment: Text,
  ...times,
})
export const Distribution = Type.Object({
  id: Text,
  ruleId: Text,
  variantId: Text,
  rollout: Type.Number({ format: 'float' }),
  ...times,
})
export const Rule = Type.Object({
  id: Text,
  ...ofFlag,
  ...bySegments,
  rank: Type.Integer({ format: 'int32' }),
  distributions: Type.Array(Distribution),
  ...times,
})
export const Rollout = Type.Object({
  id: Text,
  ...ofFlag,
  type: Type.Enum(rolloutTypes.names),
  rank: Type.Integer({ format: 'int32' }),
  description: Text,
  ...times,
  segment: Type.Optional(Type.Object({ ...bySegments, value: Type.Boolean() })),
  threshold: Type.Optional(Type.Object({ percentage: Type.Number({ format: 'float' }), value: Type.Boolean() })),
})
export const Flag = Type.Object({
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  enabled: Type.Boolean(),
  type: Type.Enum(flagTypes.names),
  variants: Type.Array(Variant),
  defaultVariant: Type.Optional(Variant),
  metadata: Type.Object({}, { additionalProperties: true }),
  ...times,
})

type OfFlag = Pick<FlagDoc, 'namespace' | 'key'>
const naming = ({ namespace, key }: OfFlag) => ({ namespaceKey: namespace, flagKey: key })

/** One segment stands in `segmentKey`, several in `segmentKeys`. */
const segmentsShown = (segments: readonly string[], operator: SegmentOperator) => {
  const [only = '', ...others] = segments
  const several = others.length > 0
  return {
    segmentKey: several ? '' : only,
    segmentKeys: several ? segments : [],
    segmentOperator: segmentOperators.wire[operator],
  }
}

export const variantJson = (
  of: OfFlag,
  { id, key, name, description, attachment, createdAt, updatedAt }: VariantDoc,
) => ({
  id,
  ...naming(of),
  key,
  name,
  description,
  attachment,
  createdAt,
  updatedAt,
})

export const distributionJson = (
  ruleId: string,
  { id, variantId, rollout, createdAt, updatedAt }: DistributionDoc,
) => ({
  id,
  ruleId,
  variantId,
  rollout: shortFloat32(rollout),
  createdAt,
  updatedAt,
})

export const ruleJson = (
  of: OfFlag,
  { id, rank, segments, operator, distributions, createdAt, updatedAt }: RuleDoc,
) => ({
  id,
  ...naming(of),
  ...segmentsShown(segments, operator),
  rank,
  distributions: distributions.map((distribution) => distributionJson(id, distribution)),
  createdAt,
  updatedAt,
})

const partJson = (rollout: RolloutDoc) => {
  const { value } = rollout
  if (rollout.type === 'threshold') return { threshold: { percentage: shortFloat32(rollout.percentage), value } }
  return { segment: { ...segmentsShown(rollout.segments, rollout.operator), value } }
}

export const rolloutJson = (of: OfFlag, rollout: RolloutDoc) => {
  const { id, type, rank, description, createdAt, updatedAt } = rollout
  return {
    id,
    ...naming(of),
    type: rolloutTypes.wire[type],
    rank,
    description,
    createdAt,
    updatedAt,
    ...partJson(rollout),
  }
}

export const flagJson = (doc: FlagDoc) => {
  const { namespace, key, name, description, enabled, type, metadata, createdAt, updatedAt, defaultVariantId } = doc
  const variants = doc.variants.map((variant) => variantJson(doc, variant))
  const defaultVariant = variants.find(({ id }) => id === defaultVariantId)
  return {
    key,
    namespaceKey: namespace,
    name,
    description,
    enabled,
    type: flagTypes.wire[type],
    variants,
    ...(defaultVariant && { defaultVariant }),
    metadata,
    createdAt,
    updatedAt,
  }
}
