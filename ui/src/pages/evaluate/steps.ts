import type { Question, TraceStep, TrialAnswer } from '../../api/evaluation.ts'
import { fullWords } from '../../parts/moment.ts'
import type { Preferences } from '../../preferences.ts'
import { evaluate as words } from '../../words/evaluate.ts'
import { flag } from '../../words/flag.ts'
import { operatorWords } from '../../words/operators.ts'
import { rule } from '../../words/variant.ts'

type Failed = NonNullable<TraceStep['failedConstraints']>[number]
/** Explained answer, of the flag or of a draft. */
export type Explained = {
  readonly kind: 'boolean' | 'variant'
  readonly question: Pick<Question, 'entity' | 'context'>
  readonly said: TrialAnswer
}
type Zone = Preferences['zone']

/** Step of a trace for display: whether it matched, and its reasons. */
export type Line = {
  readonly id: string
  readonly sentence: string
  readonly matched: boolean
  readonly why: readonly string[]
}

const listed = (value: string): string => {
  try {
    const items: unknown = JSON.parse(value)
    return Array.isArray(items) ? words.values(items.map(String)) : value
  } catch {
    return value
  }
}

const valueOf = ({ type, operator, value }: Failed, zone: Zone): string => {
  if (operator === 'isoneof' || operator === 'isnotoneof') return listed(value)
  const instant = type === 'DATETIME_COMPARISON_TYPE' && value.includes('T') && !Number.isNaN(Date.parse(value))
  return instant ? fullWords(value, zone) : value
}

const failedWords = (failed: Failed, { entity, context }: Explained['question'], zone: Zone): string => {
  const { type, property, operator } = failed
  const ofEntity = type === 'ENTITY_ID_COMPARISON_TYPE'
  const asked = words.constraint(
    ofEntity ? words.entityId : property,
    operatorWords(type, operator),
    valueOf(failed, zone),
  )
  return words.failed(asked, ofEntity ? entity : Object.hasOwn(context, property) ? context[property] : undefined)
}

/** Explains why the segments of a step did not match: the failed constraints that the trace contains. */
const whyNot = (step: TraceStep, question: Explained['question'], zone: Zone): readonly string[] => {
  const { askedSegmentKeys = [], segmentKeys, failedConstraints = [], failedConstraintIds } = step
  const several = askedSegmentKeys.length > 1
  const sentences = failedConstraints
    .filter(({ segmentKey }) => !segmentKeys.includes(segmentKey))
    .map((failed) => {
      const sentence = failedWords(failed, question, zone)
      return several ? words.ofSegment(failed.segmentKey, sentence) : sentence
    })
  const omitted = failedConstraintIds.length - failedConstraints.length
  if (omitted > 0) return [...sentences, words.moreFailed(omitted)]
  const gone = askedSegmentKeys.filter(
    (key) => !segmentKeys.includes(key) && !failedConstraints.some(({ segmentKey }) => segmentKey === key),
  )
  return [...sentences, ...gone.map(words.segmentGone)]
}

const bucketWords = ({ matched, bucket, threshold, cumulative = [], variantKey }: TraceStep): readonly string[] => {
  if (bucket === undefined) return []
  if (threshold !== undefined) return [(matched ? words.below : words.notBelow)(bucket, String(threshold))]
  const bound = variantKey === undefined ? cumulative.at(-1) : cumulative.find((sum) => bucket < sum)
  return [(variantKey === undefined ? words.notBelow : words.below)(bucket, String(bound))]
}

const sentenceOf = (step: TraceStep, n: number): string => {
  const { kind, value = false, threshold, askedSegmentKeys, segmentOperator, distributions } = step
  if (threshold !== undefined) return flag.share(String(threshold), value)
  const all = segmentOperator === 'AND_SEGMENT_OPERATOR'
  if (kind === 'rollout') return askedSegmentKeys ? flag.segments(askedSegmentKeys, all, value) : words.rolloutOf(n)
  return askedSegmentKeys && distributions
    ? rule.sentence(
        askedSegmentKeys,
        all,
        distributions.map(({ variantKey, rollout }) => rule.weight(variantKey, String(rollout))),
      )
    : words.ruleOf(n)
}

/** Steps of an answer in evaluation order. */
export const linesOf = ({ question, said: { trace = [] } }: Explained, zone: Zone): readonly Line[] =>
  trace.map((step, n) => {
    const { id, matched, segmentKeys, askedSegmentKeys = [] } = step
    const within = matched && askedSegmentKeys.length > 1 ? [words.inSegments(segmentKeys)] : []
    return {
      id,
      sentence: sentenceOf(step, n + 1),
      matched,
      why: [...(matched ? within : whyNot(step, question, zone)), ...bucketWords(step)],
    }
  })

/** Summary of the answer. */
export const answerOf = ({ kind, said: { enabled, match, variantKey = '' } }: Explained): string => {
  if (kind === 'boolean') return String(enabled)
  return variantKey !== '' ? variantKey : match ? words.noVariant : words.noMatch
}

/** Reason of the answer. */
export const reasonOf = ({ kind, said }: Explained): string => {
  const { reason, trace = [] } = said
  const { length } = trace
  const last = trace.at(-1)
  if (reason === 'FLAG_DISABLED_EVALUATION_REASON') return words.reason.disabled
  if (kind === 'boolean') return last?.matched ? words.reason.rollout(length) : words.reason.noRollout
  if (!last?.matched) return reason === 'DEFAULT_EVALUATION_REASON' ? words.reason.noRule : words.reason.noRuleNoDefault
  if (last.variantKey !== undefined) return words.reason.rule(length)
  return last.bucket === undefined ? words.reason.ruleGivesNothing(length) : words.reason.noShare
}
