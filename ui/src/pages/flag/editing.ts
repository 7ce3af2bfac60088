import { type ChangedFlag, flagChanges, type Loaded, readFlag, readFlags } from '../../api/flags.ts'
import type { Editing } from '../../parts/editing/editing.ts'
import { flag as words } from '../../words/flag.ts'
import { changesOf } from './changes.ts'
import { type Draft, draftOf, settled } from './draft.ts'
import { flawsOf, refusedFlaws } from './flaws.ts'
import { merge } from './merge.ts'
import { sentOf } from './sent.ts'

export const flagEditing: Editing<Loaded, Draft, ChangedFlag> = {
  thing: words.thing,
  draftOf,
  settled,
  changesOf,
  flawsOf,
  merge,
  sent: (base, start, draft, reason) => {
    const { ops, about } = sentOf(start, draft)
    return { write: flagChanges(base.flag, base.revision, ops, reason), about }
  },
  answered: ({ flag, rollouts, rules }, revision) => ({ flag, rollouts, rules, revision }),
  refusedFlaws,
  readAgain: async ({ flag: { namespaceKey, key } }) => {
    const [theirs, { flags }] = await Promise.all([
      readFlag(namespaceKey, key, undefined),
      readFlags(namespaceKey, { q: key, sort: 'changedAt', order: 'desc' }),
    ])
    const listed = flags.find((one) => one.key === key)
    return { theirs, by: listed?.changedBy, at: listed?.changedAt }
  },
}
