import { type EventOf, v1 } from './define.ts'
import { count, list, object, oneOf, word } from './fields.ts'

/** What an instance of the service did to what all of them share. One stream an instance, from its start to its end: instance-{instance}. */
export const instanceEvents = {
  ReadModelsRebuilt: v1(
    object(
      'The read models did not fit the history when an instance started, and were built anew from it. With `eventsGone` above 0 the history itself has lost events that were acknowledged: a file or a server was put back to an older copy.',
      {
        instance: word('The instance that built them.', 'name of an instance'),
        cause: oneOf(
          'Why: the history was shorter than they had seen, had another event where they stood, rows were missing or older than they had been, or they were of another history.',
          ['shorter', 'forked', 'rows_missing', 'another_log'],
        ),
        eventsGone: count('Events that they knew and the history does not have, at least.'),
        readModels: list('Those that did not fit.', word('The read model.', 'name of a read model')),
      },
    ),
  ),
}

export type InstanceEvent = EventOf<typeof instanceEvents>
