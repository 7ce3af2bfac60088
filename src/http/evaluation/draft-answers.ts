import { refuse } from '../../base/errors.ts'
import type { TrialAnswer } from '../../contract/evaluation.ts'
import { reasonNames } from '../../contract/evaluation.ts'
import type { TrialEntity } from '../../contract/readers/changes.ts'
import { compileFlag } from '../../evaluation/compile.ts'
import { evaluateBoolean, evaluateVariant } from '../../evaluation/evaluate.ts'
import type { FlagInput, SegmentInput } from '../../evaluation/flag.ts'
import type { Trace } from '../../evaluation/trace.ts'
import { shownTrace } from './trace.ts'

type Trial = {
  readonly entity: NonNullable<TrialEntity>
  /** Whether the answers contain their steps. */
  readonly explain: boolean
  /** Whether the answers name segments. */
  readonly names: boolean
  readonly segment: (key: string) => SegmentInput | undefined
}

/** Answer of a flag that is not in memory, as one evaluation gives it. It is not counted as an evaluation. */
const trialAnswer = (input: FlagInput, { entity, explain, names, segment }: Trial): TrialAnswer => {
  const { entityId, context } = entity
  const flag = compileFlag(input, segment)
  const trace: Trace | undefined = explain ? [] : undefined
  const answer =
    flag.type === 'boolean'
      ? evaluateBoolean(flag, entityId, context, trace)
      : evaluateVariant(flag, entityId, context, trace)
  if ('error' in answer) return refuse('invalid_argument', answer.error)
  const { reason, segmentKeys } = answer
  return {
    ...('enabled' in answer
      ? { enabled: answer.enabled }
      : { match: answer.match, variantKey: answer.variantKey, variantAttachment: answer.variantAttachment }),
    reason: reasonNames[reason],
    segmentKeys: names ? segmentKeys : [],
    ...(trace && shownTrace(trace, flag)),
  }
}

/** Answers of a flag for one entity, at present and after the changes of a dry run (api.md §7.9). */
export const draftAnswers = (present: FlagInput, changed: FlagInput, trial: Trial) => ({
  present: trialAnswer(present, trial),
  changed: trialAnswer(changed, trial),
})
