import { type EventOf, v1 } from './define.ts'
import { count, list, object, oneOf, word } from './fields.ts'

/** Actions of an instance on shared data. One stream per service process: instance-{instance}. */
export const instanceEvents = {
  ReadModelsRebuilt: v1(
    object(
      'At the start of an instance the read models did not match the history, and were rebuilt from it. `eventsGone` above 0 means that the history itself lost acknowledged events, for example because an older backup was restored.',
      {
        instance: word('The instance that rebuilt them.', 'name of an instance'),
        cause: oneOf(
          '`shorter`: the history ends before the checkpoint of the read models. `forked`: it has another event at the checkpoint. `rows_missing`: rows are missing or outdated. `another_log`: the read models belong to another history.',
          ['shorter', 'forked', 'rows_missing', 'another_log'],
        ),
        eventsGone: count('Minimum number of events that the read models contained and the history lacks.'),
        readModels: list('The read models that did not match.', word('The read model.', 'name of a read model')),
      },
    ),
  ),
}

export type InstanceEvent = EventOf<typeof instanceEvents>
