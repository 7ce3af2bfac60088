import type { ListedFlag } from '../../api/flags.ts'
import { AnswersBadge } from '../../parts/lists/answers-badge.tsx'
import { flags as words } from '../../words/flags.ts'

/** Summary of a flag's answers, with its default if it has rollouts. */
export const State = ({ flag }: { readonly flag: ListedFlag }) => {
  const { type, enabled, rollouts = [] } = flag
  return (
    <span className="state">
      <AnswersBadge of={flag} />
      {rollouts.length > 0 && words.stateOf(type, enabled)}
    </span>
  )
}
