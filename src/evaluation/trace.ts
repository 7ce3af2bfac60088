import type { Rule, Segmented, Threshold } from './compile.ts'
import type { VariantInput } from './flag.ts'
import { type Condition, holds, type Segment, segmentsMatching, type Subject } from './segment.ts'

/** One step of an evaluation, as api.md §8.6 tells it; `type` is the rollout's. */
export type TraceStep = {
  readonly kind: 'rollout' | 'rule'
  readonly id: string
  readonly rank: number
  readonly matched: boolean
  readonly segmentKeys: readonly string[]
  readonly failedConstraintIds: readonly string[]
  readonly type?: 'threshold' | 'segment'
  readonly bucket?: number
  readonly threshold?: number
  readonly cumulative?: readonly number[]
  readonly variantKey?: string
}

/** Takes the steps in the order tried. */
export type Trace = TraceStep[]

/** The step of a threshold, hit or not. */
export const traceThreshold = (
  { id, rank, type, percentage }: Threshold,
  matched: boolean,
  bucket: number,
): TraceStep => {
  return {
    kind: 'rollout',
    id,
    rank,
    matched,
    segmentKeys: [],
    failedConstraintIds: [],
    type,
    bucket,
    threshold: percentage,
  }
}

/** The step of a segment rollout, hit or not. */
export const traceSegment = (
  { id, rank, type, condition }: Segmented,
  matched: boolean,
  subject: Subject,
): TraceStep => ({
  kind: 'rollout',
  id,
  rank,
  matched,
  ...asked(condition, subject),
  type,
})

/** The step of a rule. Bucket and variant are given if one was computed and one was chosen. */
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
  ...(bucket === undefined ? {} : { bucket }),
  ...(matched ? { cumulative: shares.map(({ below }) => below) } : {}),
  ...(variant ? { variantKey: variant.key } : {}),
})

const failing = (segments: readonly Segment[], subject: Subject): readonly string[] => {
  const ids: string[] = []
  for (const { constraints } of segments) {
    for (const constraint of constraints) {
      if (!holds(constraint, subject)) ids.push(constraint.id)
      if (subject.left < 0) return ids
    }
  }
  return ids
}

/** Asks every constraint anew, also those that evaluation could leave out: only an explained evaluation pays for it. */
const asked = ({ segments }: Condition, subject: Subject) => ({
  segmentKeys: segmentsMatching(segments, subject),
  failedConstraintIds: failing(segments, subject),
})
