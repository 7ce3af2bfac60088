import type { Rule, Segmented, Threshold } from './compile.ts'
import type { Context } from './context.ts'
import type { VariantInput } from './flag.ts'
import { type Condition, holds, segmentsMatching } from './segment.ts'

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
export const traceThreshold = ({ id, rank, type, percentage }: Threshold, matched: boolean, bucket: number): TraceStep => {
  return { kind: 'rollout', id, rank, matched, segmentKeys: [], failedConstraintIds: [], type, bucket, threshold: percentage }
}

/** The step of a segment rollout, hit or not. */
export const traceSegment = (
  { id, rank, type, condition }: Segmented,
  matched: boolean,
  entityId: string,
  context: Context,
): TraceStep => ({ kind: 'rollout', id, rank, matched, ...asked(condition, entityId, context), type })

/** The step of a rule. Bucket and variant are given if one was computed and one was chosen. */
export const traceRule = (
  { id, rank, condition, shares }: Rule,
  matched: boolean,
  entityId: string,
  context: Context,
  bucket?: number,
  variant?: VariantInput,
): TraceStep => ({
  kind: 'rule',
  id,
  rank,
  matched,
  ...asked(condition, entityId, context),
  ...(bucket === undefined ? {} : { bucket }),
  ...(matched ? { cumulative: shares.map(({ below }) => below) } : {}),
  ...(variant ? { variantKey: variant.key } : {}),
})

/** Asks every constraint anew, also those that evaluation could leave out: only an explained evaluation pays for it. */
const asked = ({ segments }: Condition, entityId: string, context: Context) => ({
  segmentKeys: segmentsMatching(segments, entityId, context),
  failedConstraintIds: segments.flatMap(({ constraints }) =>
    constraints.filter((constraint) => !holds(constraint, entityId, context)).map(({ id }) => id),
  ),
})
