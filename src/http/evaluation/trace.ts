import type * as contract from '../../contract/evaluation.ts'
import { comparisonTypes, rolloutTypes, segmentOperators } from '../../contract/readers/fields.ts'
import type { Compiled } from '../../evaluation/compile.ts'
import type { FailedConstraint, Trace, TraceStep } from '../../evaluation/trace.ts'
import { shortFloat32 } from '../../events/flag.ts'
import { membersOf } from '../wire/pieces.ts'

/**
 * Size limit of segments, constraints and distributions in one trace, in UTF-16 units; each entry adds a fixed cost.
 */
const MOST_DETAIL = 262_144
const ENTRY = 64

/**
 * Returns a function that adds the size of texts to the used size, or returns false if the sum would exceed the limit.
 */
const roomFor = () => {
  let left = MOST_DETAIL
  return (...entries: readonly string[]): boolean => {
    const cost = entries.reduce((sum, text) => sum + text.length + ENTRY, 0)
    if (cost > left) return false
    left -= cost
    return true
  }
}
type Fits = ReturnType<typeof roomFor>

type Shown = NonNullable<contract.TraceStep['failedConstraints']>[number]

const failedConstraints = (failed: readonly FailedConstraint[], fits: Fits): readonly Shown[] => {
  const shown: Shown[] = []
  for (const { segmentKey, constraint } of failed) {
    const { id, type, property, operator, value } = constraint
    if (fits(segmentKey + property + value)) {
      shown.push({ id, segmentKey, type: comparisonTypes.wire[type], property, operator, value })
    }
  }
  return shown
}

const shownStep = (step: TraceStep, fits: Fits): contract.TraceStep => {
  const { failed, askedSegmentKeys, segmentOperator, type, threshold, distributions, ...rest } = step
  const variants = distributions?.map(({ variantKey }) => variantKey)
  return {
    ...rest,
    failedConstraintIds: failed.map(({ constraint }) => constraint.id),
    ...(askedSegmentKeys && fits(...askedSegmentKeys) && { askedSegmentKeys }),
    ...(segmentOperator && { segmentOperator: segmentOperators.wire[segmentOperator] }),
    ...(segmentOperator && { failedConstraints: failedConstraints(failed, fits) }),
    ...(threshold !== undefined && { threshold: shortFloat32(threshold) }),
    ...(type && { type: rolloutTypes.wire[type] }),
    ...(distributions &&
      variants &&
      fits(...variants) && {
        distributions: distributions.map(({ variantKey, rollout }) => ({ variantKey, rollout: shortFloat32(rollout) })),
      }),
  }
}

/** Additional fields of an explained answer (api.md §8.6). */
export const shownTrace = (trace: Trace, flag: Compiled) => {
  const fits = roomFor()
  const parts = flag.type === 'boolean' ? flag.rollouts : flag.rules
  return { trace: trace.map((step) => shownStep(step, fits)), untried: parts.length - trace.length }
}

/** Additional fields of an explained answer, as JSON without its braces. */
export const traceJson = (trace: Trace, flag: Compiled): string => membersOf(shownTrace(trace, flag))
