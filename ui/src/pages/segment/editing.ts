import { type ChangedSegment, type LoadedSegment, readSegment, readSegments } from '../../api/segments.ts'
import type { Editing } from '../../parts/editing/editing.ts'
import { changedInVain, mergedParts, ofEach } from '../../parts/editing/merge.ts'
import { segment as words } from '../../words/segments.ts'
import { changesOf, sent, sentenceOf } from './changes.ts'
import { type Draft, draftOf, settled } from './draft.ts'
import { flawsOf, refusedFlaws } from './flaws.ts'

export const segmentEditing: Editing<LoadedSegment, Draft, ChangedSegment> = {
  thing: words.thing,
  draftOf,
  settled,
  changesOf,
  flawsOf,
  merge: (base, mine, theirs) => {
    const three = { base: base.constraints, mine: mine.constraints, theirs: theirs.constraints }
    return {
      draft: { ...ofEach(base, mine, theirs), constraints: mergedParts(three) },
      left: changedInVain(three).map(sentenceOf),
    }
  },
  sent,
  answered: ({ segment }, revision) => ({ segment, revision }),
  refusedFlaws,
  readAgain: async ({ segment: { namespaceKey, key } }) => {
    const [theirs, { segments }] = await Promise.all([
      readSegment(namespaceKey, key, undefined),
      readSegments(namespaceKey, { q: key, sort: 'changedAt', order: 'desc' }),
    ])
    const listed = segments.find((one) => one.key === key)
    return { theirs, by: listed?.changedBy, at: listed?.changedAt }
  },
}
