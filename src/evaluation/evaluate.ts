import { booleanBucket, variantBucket } from './bucket.ts'
import type { BooleanFlag, VariantFlag } from './compile.ts'
import type { Context } from './flag.ts'
import { matching, subjectOf, type Work } from './segment.ts'
import { type Trace, traceRule, traceSegment, traceThreshold } from './trace.ts'

export type Reason = 'unknown' | 'disabled' | 'match' | 'default'

/** The evaluation failed. The text is the message for clients. */
export type Failure = { readonly error: 'unknown constraint type' | 'evaluation takes too much work' }

/** `usedEntity`: a threshold was evaluated, so the answer depends on the entity's id. */
export type BooleanAnswer = {
  readonly enabled: boolean
  readonly reason: Reason
  readonly segmentKeys: readonly string[]
  readonly usedEntity: boolean
}

/** Texts are `""` if the result has no variant. */
export type VariantAnswer = {
  readonly match: boolean
  readonly reason: Reason
  readonly segmentKeys: readonly string[]
  readonly variantKey: string
  readonly variantAttachment: string
}

const none: readonly string[] = []
const failure: Failure = { error: 'unknown constraint type' }
const spent: Failure = { error: 'evaluation takes too much work' }

/**
 * Evaluates a boolean flag for an entity (api.md §8.3). Appends the steps to `trace`, if given. `work`: shared budget
 * of the evaluations in one request.
 */
export const evaluateBoolean = (
  flag: BooleanFlag,
  entityId: string,
  context: Context,
  trace?: Trace,
  work?: Work,
): BooleanAnswer | Failure => {
  const subject = subjectOf(entityId, context, work)
  let bucket: number | undefined
  for (const rollout of flag.rollouts) {
    if (rollout.type === 'threshold') {
      if (bucket === undefined) {
        if (work) subject.left -= entityId.length
        if (subject.left < 0) return spent
        bucket = booleanBucket(entityId, flag.key)
      }
      const hit = bucket < rollout.below
      if (trace) trace.push(traceThreshold(rollout, hit, bucket))
      if (hit) return { enabled: rollout.value, reason: 'match', segmentKeys: none, usedEntity: true }
    } else {
      if (rollout.condition.faulty) return failure
      const segmentKeys = matching(rollout.condition, subject)
      if (trace) trace.push(traceSegment(rollout, segmentKeys !== undefined, subject))
      if (subject.left < 0) return spent
      if (segmentKeys) return { enabled: rollout.value, reason: 'match', segmentKeys, usedEntity: bucket !== undefined }
    }
  }
  return { enabled: flag.enabled, reason: 'default', segmentKeys: none, usedEntity: bucket !== undefined }
}

/** Evaluates a variant flag for an entity (api.md §8.2). For `trace` and `work` see `evaluateBoolean`. */
export const evaluateVariant = (
  flag: VariantFlag,
  entityId: string,
  context: Context,
  trace?: Trace,
  work?: Work,
): VariantAnswer | Failure => {
  const { defaultVariant } = flag
  const start: VariantAnswer = {
    match: false,
    reason: defaultVariant ? 'default' : 'unknown',
    segmentKeys: none,
    variantKey: defaultVariant ? defaultVariant.key : '',
    variantAttachment: defaultVariant ? defaultVariant.attachment : '',
  }
  if (!flag.enabled) return { ...start, reason: 'disabled' }
  const subject = subjectOf(entityId, context, work)
  for (const rule of flag.rules) {
    if (rule.condition.faulty) return failure
    const segmentKeys = matching(rule.condition, subject)
    const isDivided = segmentKeys !== undefined && rule.shares.length > 0
    if (isDivided && work) subject.left -= entityId.length
    const bucket = isDivided && subject.left >= 0 ? variantBucket(flag.key, entityId) : undefined
    const variant = bucket === undefined ? undefined : rule.shares.find(({ below }) => bucket < below)?.variant
    if (trace) trace.push(traceRule(rule, segmentKeys !== undefined, subject, bucket, variant))
    if (subject.left < 0) return spent
    if (!segmentKeys) continue
    if (bucket === undefined) return { ...start, match: true, reason: 'match', segmentKeys }
    if (!variant) return { ...start, segmentKeys }
    return { match: true, reason: 'match', segmentKeys, variantKey: variant.key, variantAttachment: variant.attachment }
  }
  return start
}
