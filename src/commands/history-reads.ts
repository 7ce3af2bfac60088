import { type DataOf, reader } from '../events/define.ts'
import { type HistoryReadEvent, historyReadEvents } from '../events/history-reads.ts'
import type { Decider } from './decider.ts'

export type HistoryReadCommands = {
  RecordReads: DataOf<HistoryReadEvent, 'HistoryRead'>
  RecordExport: DataOf<HistoryReadEvent, 'HistoryExported'>
}

/**
 * Decider of the record of reads of the history. Each record has its own stream and is written once, even if repeated.
 */
export const historyReads: Decider<{ readonly recorded: boolean }, HistoryReadCommands, HistoryReadEvent> = {
  category: 'history',
  shapes: historyReadEvents,
  read: reader(historyReadEvents),
  initial: { recorded: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordReads: ({ recorded }, data) => (recorded ? [] : [{ type: 'HistoryRead', data }]),
    RecordExport: ({ recorded }, data) => (recorded ? [] : [{ type: 'HistoryExported', data }]),
  },
  evolve: {
    HistoryRead: () => ({ recorded: true }),
    HistoryExported: () => ({ recorded: true }),
  },
}
