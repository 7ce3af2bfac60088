import { type DataOf, reader } from '../events/define.ts'
import { type HistoryEvent, historyEvents } from '../events/history.ts'
import type { Decider } from './decider.ts'

type HistoryCommands = { AcceptDamagedLog: DataOf<HistoryEvent, 'DamagedLogAccepted'> }

/** Numbers of missing positions and revisions when an operator last accepted damage; 0 if no damage was accepted. */
type HistoryState = { readonly positionsMissing: number; readonly revisionsMissing: number }

/** Id of the only stream. */
export const HISTORY_ID = 'main'

/** Decider of accepted log damage. Every acceptance is recorded. */
export const history: Decider<HistoryState, HistoryCommands, HistoryEvent> = {
  category: 'history',
  shapes: historyEvents,
  read: reader(historyEvents),
  initial: { positionsMissing: 0, revisionsMissing: 0 },
  exists: ({ positionsMissing, revisionsMissing }) => positionsMissing + revisionsMissing > 0,
  decide: { AcceptDamagedLog: (_, data) => [{ type: 'DamagedLogAccepted', data }] },
  evolve: {
    DamagedLogAccepted: (_, { positionsMissing, revisionsMissing }) => ({ positionsMissing, revisionsMissing }),
  },
}
