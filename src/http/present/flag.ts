import { givenBy, reachOf } from '../../contract/answers.ts'
import type { Flag } from '../../contract/flags/flag.ts'
import type { Rollout } from '../../contract/flags/rollout.ts'
import type { Distribution, Rule } from '../../contract/flags/rule.ts'
import type { Variant } from '../../contract/flags/variant.ts'
import { flagTypes, rolloutTypes, segmentOperators } from '../../contract/readers/fields.ts'
import type { SegmentOperator } from '../../events/flag.ts'
import { shortFloat32 } from '../../events/flag.ts'
import type { DistributionDoc, FlagDoc, RolloutDoc, RuleDoc, VariantDoc } from '../../projections/flags.ts'

type OfFlag = Pick<FlagDoc, 'namespace' | 'key'>
const naming = ({ namespace, key }: OfFlag) => ({ namespaceKey: namespace, flagKey: key })

/** One segment is in the field `segmentKey`, several are in `segmentKeys`. */
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
): Variant => ({
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
): Distribution => {
  const share = shortFloat32(rollout)
  const given = givenBy(share)
  return { id, ruleId, variantId, rollout: share, ...(given !== share && { countsAs: given }), createdAt, updatedAt }
}

export const ruleJson = (
  of: OfFlag,
  { id, rank, segments, operator, distributions, createdAt, updatedAt }: RuleDoc,
): Rule => ({
  id,
  ...naming(of),
  ...segmentsShown(segments, operator),
  rank,
  distributions: distributions.map((distribution) => distributionJson(id, distribution)),
  createdAt,
  updatedAt,
})

const partJson = (rollout: RolloutDoc): Pick<Rollout, 'segment' | 'threshold'> => {
  const { value } = rollout
  if (rollout.type === 'threshold') {
    const percentage = shortFloat32(rollout.percentage)
    const counted = Number.isInteger(percentage) ? {} : { countsAs: reachOf(percentage) }
    return { threshold: { percentage, ...counted, value } }
  }
  return { segment: { ...segmentsShown(rollout.segments, rollout.operator), value } }
}

export const rolloutJson = (of: OfFlag, rollout: RolloutDoc): Rollout => {
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

export const flagJson = (doc: FlagDoc): Flag => {
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
