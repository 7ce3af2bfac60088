import { Type } from 'typebox'
import { type EventOf, FIRST_FORMAT, v1 } from './define.ts'
import { count, object, oneOf, truth, word } from './fields.ts'

const instance = { instance: word('The instance.', 'name of an instance') }

/**
 * Who lives, of the instances that share servers. One stream for all: instance-main. Read by versions that know nothing of it as events that
 * change nothing, so they are of the first format for ever.
 */
export const rollEvents = {
  InstanceJoined: v1(
    object('An instance is there: it began, or was struck out though it lived.', {
      ...instance,
      reads: count('The latest format of the history that it reads.'),
      version: word('Its version.', 'Semantic Versioning'),
      complete: Type.Optional(
        truth(
          'True where no instance is there that keeps no roll: the history began with this event, or `eventstore.all_on_roll` says so.',
        ),
      ),
    }),
    FIRST_FORMAT,
  ),
  InstancesCalled: v1(object('An instance asked who else is there.', instance), FIRST_FORMAT),
  InstanceAnswered: v1(object('An instance that was asked for is there.', instance), FIRST_FORMAT),
  InstanceLeft: v1(
    object('An instance is there no more: none of its requests is under way.', {
      ...instance,
      cause: oneOf('Why: it ended in order, or it did not answer when it was asked for.', ['ended', 'silent']),
    }),
    FIRST_FORMAT,
  ),
}

export type RollEvent = EventOf<typeof rollEvents>
