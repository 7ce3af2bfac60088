import type { Merged } from '../../parts/editing.ts'
import { changedInVain, mergedParts, ofEach } from '../../parts/merge.ts'
import { sentenceOf } from './changes.ts'
import type { Draft } from './draft.ts'

/** My changes on top of the present state. */
export const merge = (base: Draft, mine: Draft, theirs: Draft): Merged<Draft> => {
  const rollouts = { base: base.rollouts, mine: mine.rollouts, theirs: theirs.rollouts }
  return {
    draft: { ...ofEach(base, mine, theirs), rollouts: mergedParts(rollouts) },
    left: changedInVain(rollouts).map(sentenceOf),
  }
}
