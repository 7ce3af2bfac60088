import { type EventOf, v1 } from './define.ts'
import { count, list, object, word } from './fields.ts'

/** Accepted damage to the history. Stream: history-main. */
export const historyEvents = {
  DamagedLogAccepted: v1(
    object('An operator accepted a damaged log, so that the service could continue with it.', {
      positionsMissing: count('Number of missing events, by position in the log.'),
      revisionsMissing: count('Number of missing events, by revision in the streams.'),
      findings: list('The damage found.', word('A stream or position of the log, and the damage at it.', 'text')),
    }),
  ),
}

export type HistoryEvent = EventOf<typeof historyEvents>
