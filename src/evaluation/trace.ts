import type { Rule, Segmented, Threshold } from './compile.ts'
import type { ConstraintInput, SegmentOperator, VariantInput } from './flag.ts'
import { type Condition, holds, type Segment, type Subject, segmentsMatching } from './segment.ts'

/** A constraint that did not match, with its segment. */
export type FailedConstraint = { readonly segmentKey: string; readonly constraint: ConstraintInput }

/** One step of an evaluation (api.md §8.6). `type` and `value` are those of a rollout. */
export type TraceStep = {
  readonly kind: 'rollout' | 'rule'
  readonly id: string
  readonly rank: number
  readonly matched: boolean
  readonly segmentKeys: readonly string[]
  readonly failed: readonly FailedConstraint[]
  readonly askedSegmentKeys?: readonly string[]
  readonly segmentOperator?: SegmentOperator
  readonly type?: 'threshold' | 'segment'
  readonly value?: boolean
  readonly bucket?: number
  readonly threshold?: number
  readonly distributions?: readonly { readonly variantKey: string; readonly rollout: number }[]
  readonly cumulative?: readonly number[]
  readonly variantKey?: string
}

/** Steps in order of evaluation. */
export type Trace = TraceStep[]

/** Step of a threshold rollout. */
export const traceThreshold = (
  { id, rank, type, value, percentage }: Threshold,
  matched: boolean,
  bucket: number,
): TraceStep => ({
  kind: 'rollout',
  id,
  rank,
  matched,
  segmentKeys: [],
  failed: [],
  type,
  value,
  bucket,
  threshold: percentage,
})

/** Step of a segment rollout. */
export const traceSegment = (
  { id, rank, type, value, condition }: Segmented,
  matched: boolean,
  subject: Subject,
): TraceStep => ({
  kind: 'rollout',
  id,
  rank,
  matched,
  ...asked(condition, subject),
  type,
  value,
})

/** Step of a rule, with the bucket if it was computed and the variant if one was chosen. */
export const traceRule = (
  { id, rank, condition, shares }: Rule,
  matched: boolean,
  subject: Subject,
  bucket?: number,
  variant?: VariantInput,
): TraceStep => ({
  kind: 'rule',
  id,
  rank,
  matched,
  ...asked(condition, subject),
  distributions: shares.map(({ variant, rollout }) => ({ variantKey: variant.key, rollout })),
  ...(bucket === undefined ? {} : { bucket }),
  ...(matched ? { cumulative: shares.map(({ below }) => below) } : {}),
  ...(variant ? { variantKey: variant.key } : {}),
})

const failing = (segments: readonly Segment[], subject: Subject): readonly FailedConstraint[] => {
  const failed: FailedConstraint[] = []
  for (const { key, constraints } of segments) {
    for (const constraint of constraints) {
      if (!holds(constraint, subject)) failed.push({ segmentKey: key, constraint: constraint.of })
      if (subject.left < 0) return failed
    }
  }
  return failed
}

/**
 * Tests all constraints again, including those that the evaluation skipped. Runs only if an explanation is requested.
 */
const asked = ({ segments, keys, needed }: Condition, subject: Subject) => ({
  segmentKeys: segmentsMatching(segments, subject),
  failed: failing(segments, subject),
  askedSegmentKeys: keys,
  segmentOperator: needed > 1 ? ('and' as const) : ('or' as const),
})
