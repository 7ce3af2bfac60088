import { FIRST_FORMAT, reader } from '../events/define.ts'
import { type MembershipEvent, membershipEvents } from '../events/deployment.ts'
import type { Decider } from './decider.ts'

/**
 * Member of the cluster: the latest format that the instance reads, its version, and whether it has responded to the
 * last probe.
 */
type Member = { readonly reads: number; readonly version: string; readonly responded: boolean }

/**
 * Members of the cluster. `probes`: number of probes so far. `complete`: every running instance is a member. `unsure`:
 * an event of this stream cannot be read.
 */
export type Membership = {
  readonly members: ReadonlyMap<string, Member>
  readonly probes: number
  readonly complete: boolean
  readonly unsure: boolean
}

type JoinCommand = {
  readonly instance: string
  readonly reads: number
  readonly version: string
  readonly complete: boolean
}
export type MembershipCommands = {
  /** Adds an instance to the members, or records its response to a probe. */
  Join: JoinCommand
  /** Requests a response from all other members, unless a response to the previous request is still missing. */
  Probe: { readonly instance: string }
  /** Removes the members that have not responded to the probe with this number. */
  EvictUnresponsive: { readonly instance: string; readonly probe: number }
  /** Removes a member at an orderly shutdown. */
  Leave: { readonly instance: string }
}

/** Id of the only stream. */
export const MEMBERSHIP = 'main'

/** Format in which events are written: the latest that every member reads. */
export const formatOf = ({ members, complete, unsure }: Membership): number =>
  complete && !unsure && members.size > 0 ? Math.min(...[...members.values()].map(({ reads }) => reads)) : FIRST_FORMAT

const unresponsive = ({ members }: Membership, but: string): string[] =>
  [...members].flatMap(([instance, { responded }]) => (responded || instance === but ? [] : [instance]))

/**
 * Returns true if an instance must append an event: `InstanceJoined` if it is not a member, or `MemberResponded` if a
 * different member has probed it.
 */
export const mustRespond = ({ members }: Membership, instance: string): boolean =>
  members.get(instance)?.responded !== true

/** Returns true if a member other than the given instance has not responded to the last probe. */
export const awaitsResponse = (membership: Membership, instance: string): boolean =>
  unresponsive(membership, instance).length > 0

/** Returns true if a member reads only formats earlier than `reads`. */
export const hasOlderMember = ({ members }: Membership, reads: number): boolean =>
  [...members.values()].some((member) => member.reads < reads)

const without = (membership: Membership, instance: string): Membership => {
  const members = new Map(membership.members)
  members.delete(instance)
  return { ...membership, members }
}

/**
 * Decider of the cluster membership: the instances that share servers, and the format that each reads. Works even if a
 * newer version of the service wrote events of unknown types to the stream.
 */
export const membership: Decider<Membership, MembershipCommands, MembershipEvent> = {
  category: 'instance',
  shapes: membershipEvents,
  read: reader(membershipEvents),
  initial: { members: new Map(), probes: 0, complete: false, unsure: false },
  exists: ({ members }) => members.size > 0,
  unread: {
    commands: new Set(['Join', 'Probe', 'EvictUnresponsive', 'Leave']),
    state: (state) => ({ ...state, unsure: true }),
  },

  decide: {
    Join: (state, { instance, reads, version, complete }) => {
      if (!state.members.has(instance))
        return [
          {
            type: 'InstanceJoined',
            data: { instance, reads, version, ...(complete && !state.complete && { complete }) },
          },
        ]
      return mustRespond(state, instance) ? [{ type: 'MemberResponded', data: { instance } }] : []
    },
    Probe: (state, { instance }) =>
      state.members.size > 1 && !awaitsResponse(state, instance) ? [{ type: 'MembersProbed', data: { instance } }] : [],
    EvictUnresponsive: (state, { instance, probe }) =>
      probe === state.probes
        ? unresponsive(state, instance).map((each) => ({
            type: 'InstanceLeft',
            data: { instance: each, cause: 'silent' },
          }))
        : [],
    Leave: ({ members }, { instance }) =>
      members.has(instance) ? [{ type: 'InstanceLeft', data: { instance, cause: 'ended' } }] : [],
  },

  evolve: {
    InstanceJoined: (state, { instance, reads, version, complete }) => ({
      ...state,
      members: new Map(state.members).set(instance, { reads, version, responded: true }),
      complete: state.complete || complete === true,
    }),
    MembersProbed: (state, { instance }) => ({
      ...state,
      members: new Map([...state.members].map(([name, each]) => [name, { ...each, responded: name === instance }])),
      probes: state.probes + 1,
    }),
    MemberResponded: (state, { instance }) => {
      const member = state.members.get(instance)
      return member
        ? { ...state, members: new Map(state.members).set(instance, { ...member, responded: true }) }
        : state
    },
    InstanceLeft: (state, { instance }) => without(state, instance),
  },
}
