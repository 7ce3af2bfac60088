import { type EventOf, v1 } from './define.ts'
import { count, list, object, word } from './fields.ts'

/** The history itself, where it has to tell of what was done to it. Stream: history-main. */
export const historyEvents = {
  DamagedLogAccepted: v1(
    object('The log was not as the service left it, and an operator let the service go on with it.', {
      positionsMissing: count('Events that are missing among all positions.'),
      revisionsMissing: count('Events that are missing within streams.'),
      findings: list('What was found.', word('Where, and what was found there.', 'text')),
    }),
  ),
}

export type HistoryEvent = EventOf<typeof historyEvents>
