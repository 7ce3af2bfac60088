import { type AnswersFrom, booleanAnswers } from '../../../../src/contract/answers.ts'
import { flags as words } from '../../words/flags.ts'
import { Safe } from '../feedback/safe.tsx'

const lookOf = ({ type, enabled, rollouts = [] }: AnswersFrom): string => {
  const on = type === 'BOOLEAN_FLAG_TYPE' ? booleanAnswers(enabled, rollouts).everybody : enabled
  return on === undefined ? 'badge some' : on ? 'badge on' : 'badge off'
}

/** Badge that summarizes the present answers of a flag. */
export const AnswersBadge = ({ of }: { readonly of: AnswersFrom }) => (
  <span className={`answers ${lookOf(of)}`}>
    <Safe text={words.answers(of)} />
  </span>
)
