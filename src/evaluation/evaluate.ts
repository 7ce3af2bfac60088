import { booleanBucket, variantBucket } from './bucket.ts'
import type { BooleanFlag, VariantFlag } from './compile.ts'
import type { Context } from './context.ts'
import { matching } from './segment.ts'
import { type Trace, traceRule, traceSegment, traceThreshold } from './trace.ts'

export type Reason = 'unknown' | 'disabled' | 'match' | 'default'

/** No answer can be given; the text is the one for clients. */
export type Failure = { readonly error: 'unknown constraint type' }

/** `usedEntity`: a threshold was reached, hit or not, so the answer hangs on the entity's id. */
export type BooleanAnswer = {
  readonly enabled: boolean
  readonly reason: Reason
  readonly segmentKeys: readonly string[]
  readonly usedEntity: boolean
}

/** Texts are `""` where there is no variant. */
export type VariantAnswer = {
  readonly match: boolean
  readonly reason: Reason
  readonly segmentKeys: readonly string[]
  readonly variantKey: string
  readonly variantAttachment: string
}

const none: readonly string[] = []
const failure: Failure = { error: 'unknown constraint type' }

/** What a boolean flag says to an entity (api.md §8.3). The steps tried are added to `trace`, if one is given. */
export const evaluateBoolean = (flag: BooleanFlag, entityId: string, context: Context, trace?: Trace): BooleanAnswer | Failure => {
  let bucket: number | undefined
  for (const rollout of flag.rollouts) {
    if (rollout.type === 'threshold') {
      bucket ??= booleanBucket(entityId, flag.key)
      const hit = bucket < rollout.below
      if (trace) trace.push(traceThreshold(rollout, hit, bucket))
      if (hit) return { enabled: rollout.value, reason: 'match', segmentKeys: none, usedEntity: true }
    } else {
      if (rollout.condition.faulty) return failure
      const segmentKeys = matching(rollout.condition, entityId, context)
      if (trace) trace.push(traceSegment(rollout, segmentKeys !== undefined, entityId, context))
      if (segmentKeys) return { enabled: rollout.value, reason: 'match', segmentKeys, usedEntity: bucket !== undefined }
    }
  }
  return { enabled: flag.enabled, reason: 'default', segmentKeys: none, usedEntity: bucket !== undefined }
}

/** What a variant flag says to an entity (api.md §8.2). The steps tried are added to `trace`, if one is given. */
export const evaluateVariant = (flag: VariantFlag, entityId: string, context: Context, trace?: Trace): VariantAnswer | Failure => {
  const { defaultVariant } = flag
  const start: VariantAnswer = {
    match: false,
    reason: defaultVariant ? 'default' : 'unknown',
    segmentKeys: none,
    variantKey: defaultVariant ? defaultVariant.key : '',
    variantAttachment: defaultVariant ? defaultVariant.attachment : '',
  }
  if (!flag.enabled) return { ...start, reason: 'disabled' }
  for (const rule of flag.rules) {
    if (rule.condition.faulty) return failure
    const segmentKeys = matching(rule.condition, entityId, context)
    if (!segmentKeys) {
      if (trace) trace.push(traceRule(rule, false, entityId, context))
      continue
    }
    if (rule.shares.length === 0) {
      if (trace) trace.push(traceRule(rule, true, entityId, context))
      return { ...start, match: true, reason: 'match', segmentKeys }
    }
    const bucket = variantBucket(flag.key, entityId)
    const variant = rule.shares.find(({ below }) => bucket < below)?.variant
    if (trace) trace.push(traceRule(rule, true, entityId, context, bucket, variant))
    if (!variant) return { ...start, segmentKeys }
    return { match: true, reason: 'match', segmentKeys, variantKey: variant.key, variantAttachment: variant.attachment }
  }
  return start
}
