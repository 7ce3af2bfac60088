import { type DataOf, reader } from '../events/define.ts'
import { type HistoryEvent, historyEvents } from '../events/history.ts'
import type { Decider } from './decider.ts'

export type HistoryCommands = { AcceptDamagedLog: DataOf<HistoryEvent, 'DamagedLogAccepted'> }

/** How much was missing when it was accepted last; nothing while it never was. */
export type HistoryState = { readonly positionsMissing: number; readonly revisionsMissing: number }

/** The one stream that tells of the history. */
export const HISTORY_ID = 'main'

/** Each damage that is accepted is told. */
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
