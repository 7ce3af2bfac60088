import { refuse } from '../../base/errors.ts'
import { forEachSliced } from '../../base/event-loop.ts'
import type { SegmentMatch } from '../../contract/flags/segment.ts'
import { compileConstraint, isNever } from '../../evaluation/constraint.ts'
import type { ConstraintInput, SegmentInput } from '../../evaluation/flag.ts'
import { holds, subjectOf } from '../../evaluation/segment.ts'

type Entity = { readonly entityId: string; readonly context: Readonly<Record<string, string>> }

/** Tests all constraints of a segment with one entity (api.md §7.10). */
export const matchOf = async (
  { entityId, context }: Entity,
  { matchType, constraints }: Pick<SegmentInput, 'matchType'> & { readonly constraints: Iterable<ConstraintInput> },
): Promise<SegmentMatch> => {
  const subject = subjectOf(entityId, context)
  const results: { readonly matched: boolean; readonly never?: true }[] = []
  await forEachSliced(constraints, (given) => {
    const constraint = compileConstraint(given) ?? refuse('invalid_argument', 'unknown constraint type')
    const matched = holds(constraint, subject)
    if (subject.left < 0) refuse('invalid_argument', 'evaluation takes too much work')
    results.push({ matched, ...(isNever(constraint) && { never: true as const }) })
  })
  const any = matchType === 'any' && results.length > 0
  return {
    matched: any ? results.some((one) => one.matched) : results.every((one) => one.matched),
    constraints: results,
  }
}
