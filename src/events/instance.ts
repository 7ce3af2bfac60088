import { type EventOf, v1 } from './define.ts'
import { count, list, object, oneOf, word } from './fields.ts'
import { METHODS } from './token.ts'

const instance = { instance: word('Name of the instance.', 'name of an instance') }

/** Start and stop of an instance, and its actions on shared data. One stream per service process: instance-{instance}. */
export const instanceEvents = {
  InstanceStarted: v1(
    object(
      'An instance of the service has started and is about to become ready. It records events from this event on.',
      {
        ...instance,
        version: word('The version of the software.', 'Semantic Versioning'),
        node: word('The version of Node.js that the instance runs on.', '`v` and Semantic Versioning'),
        storage: word('The type of storage that the instance uses.', 'value of `storage.type`'),
        methods: list('The enabled methods of issuing a token.', oneOf('The method.', METHODS)),
        configDigest: word(
          'Digest of the configuration of the instance, without secrets: SHA-256 of the canonical JSON (RFC 8785) of the body of GET /meta/config.',
          'SHA-256, 64 hexadecimal digits',
        ),
      },
    ),
  ),
  InstanceStopped: v1(
    object(
      'An instance of the service shut down in order, and records no more events. A killed process writes no event of this type.',
      {
        ...instance,
        cause: oneOf(
          '`signal`: by request, such as SIGTERM. `error`: after a fault, which the log of the service names.',
          ['signal', 'error'],
        ),
      },
    ),
  ),
  ReadModelsRebuilt: v1(
    object(
      'At the start of an instance the read models did not match the history, and were rebuilt from it. `eventsGone` above 0 means that the history itself lost acknowledged events, for example because an older backup was restored.',
      {
        instance: word('The instance that rebuilt the read models.', 'name of an instance'),
        cause: oneOf(
          '`shorter`: the history ends before the checkpoint of the read models. `forked`: it has another event at the checkpoint. `rows_missing`: rows are missing or outdated. `another_log`: the read models belong to another history.',
          ['shorter', 'forked', 'rows_missing', 'another_log'],
        ),
        eventsGone: count('Minimum number of events that the read models contained and the history lacks.'),
        readModels: list(
          'The read models that did not match the log.',
          word('The read model.', 'name of a read model'),
        ),
      },
    ),
  ),
}

export type InstanceEvent = EventOf<typeof instanceEvents>
