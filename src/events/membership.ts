import { Type } from 'typebox'
import { type EventOf, FIRST_FORMAT, renamed, v1 } from './define.ts'
import { count, object, oneOf, truth, word } from './fields.ts'

const instance = { instance: word('Name of the instance.', 'name of an instance') }

/**
 * Cluster membership: the running instances that share servers. All membership events are in one stream,
 * `instance-main`. Always of the first format, because older versions skip these events.
 */
export const membershipEvents = {
  InstanceJoined: v1(
    object('An instance joined the list of members: it started, or it was still running after it had been evicted.', {
      ...instance,
      reads: count('The latest format of the history that the instance reads.'),
      version: word('The version of the service.', 'Semantic Versioning'),
      complete: Type.Optional(
        truth(
          'True if every running instance is a member: the history began with this event, or `eventstore.all_on_roll` is set.',
        ),
      ),
    }),
    FIRST_FORMAT,
  ),
  MembersProbed: renamed(
    'InstancesCalled',
    v1(object('An instance requested a response from all other instances.', instance), FIRST_FORMAT),
  ),
  MemberResponded: renamed('InstanceAnswered', v1(object('An instance responded to a probe.', instance), FIRST_FORMAT)),
  InstanceLeft: v1(
    object('An instance left the cluster. No request to this instance is in progress.', {
      ...instance,
      cause: oneOf('`ended`: orderly shutdown. `silent`: no response to a probe.', ['ended', 'silent']),
    }),
    FIRST_FORMAT,
  ),
}

export type MembershipEvent = EventOf<typeof membershipEvents>
