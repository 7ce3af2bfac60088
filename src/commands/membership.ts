import { FIRST_FORMAT, reader } from '../events/define.ts'
import { type RollEvent, rollEvents } from '../events/roll.ts'
import type { Decider } from './decider.ts'

/** An instance on the roll: what it reads, its version, and whether it has been heard since the last call. */
export type Member = { readonly reads: number; readonly version: string; readonly heard: boolean }

/**
 * Who lives. `calls` counts the calls. `complete`: whoever lives is on it. `unsure`: an event of it could not be read.
 */
export type Roll = {
  readonly members: ReadonlyMap<string, Member>
  readonly calls: number
  readonly complete: boolean
  readonly unsure: boolean
}

type Present = {
  readonly instance: string
  readonly reads: number
  readonly version: string
  readonly complete: boolean
}
export type RollCommands = {
  /** Puts an instance on the roll, or answers a call for it. */
  BePresent: Present
  /** Asks who else is there, unless somebody has not answered yet. */
  CallRoll: { readonly instance: string }
  /** Strikes out who has not answered the call of that number. */
  StrikeSilent: { readonly instance: string; readonly call: number }
  LeaveRoll: { readonly instance: string }
}

/** Its one stream. */
export const ROLL = 'main'

/** The format in which the history is to be written: the latest that every instance reads. */
export const formatOf = ({ members, complete, unsure }: Roll): number =>
  complete && !unsure && members.size > 0 ? Math.min(...[...members.values()].map(({ reads }) => reads)) : FIRST_FORMAT

const silent = ({ members }: Roll, but: string): string[] =>
  [...members].flatMap(([instance, { heard }]) => (heard || instance === but ? [] : [instance]))

/** Whether an instance has to be told as present: it is not on the roll, or was called. */
export const isMissed = ({ members }: Roll, instance: string): boolean => members.get(instance)?.heard !== true

/** Whether others were called and have not answered. */
export const isWaiting = (roll: Roll, instance: string): boolean => silent(roll, instance).length > 0

/** Whether an instance that reads less than this one is on the roll. */
export const isHeldBack = ({ members }: Roll, reads: number): boolean =>
  [...members.values()].some((member) => member.reads < reads)

const without = (roll: Roll, instance: string): Roll => {
  const members = new Map(roll.members)
  members.delete(instance)
  return { ...roll, members }
}

/** The instances that share servers, and what they read. Every command is decided whatever a newer version has written there. */
export const roll: Decider<Roll, RollCommands, RollEvent> = {
  category: 'instance',
  shapes: rollEvents,
  read: reader(rollEvents),
  initial: { members: new Map(), calls: 0, complete: false, unsure: false },
  exists: ({ members }) => members.size > 0,
  unread: {
    commands: new Set(['BePresent', 'CallRoll', 'StrikeSilent', 'LeaveRoll']),
    state: (state) => ({ ...state, unsure: true }),
  },

  decide: {
    BePresent: (state, { instance, reads, version, complete }) => {
      if (!state.members.has(instance))
        return [
          {
            type: 'InstanceJoined',
            data: { instance, reads, version, ...(complete && !state.complete && { complete }) },
          },
        ]
      return isMissed(state, instance) ? [{ type: 'InstanceAnswered', data: { instance } }] : []
    },
    CallRoll: (state, { instance }) =>
      state.members.size > 1 && !isWaiting(state, instance) ? [{ type: 'InstancesCalled', data: { instance } }] : [],
    StrikeSilent: (state, { instance, call }) =>
      call === state.calls
        ? silent(state, instance).map((each) => ({ type: 'InstanceLeft', data: { instance: each, cause: 'silent' } }))
        : [],
    LeaveRoll: ({ members }, { instance }) =>
      members.has(instance) ? [{ type: 'InstanceLeft', data: { instance, cause: 'ended' } }] : [],
  },

  evolve: {
    InstanceJoined: (state, { instance, reads, version, complete }) => ({
      ...state,
      members: new Map(state.members).set(instance, { reads, version, heard: true }),
      complete: state.complete || complete === true,
    }),
    InstancesCalled: (state, { instance }) => ({
      ...state,
      members: new Map([...state.members].map(([name, each]) => [name, { ...each, heard: name === instance }])),
      calls: state.calls + 1,
    }),
    InstanceAnswered: (state, { instance }) => {
      const member = state.members.get(instance)
      return member ? { ...state, members: new Map(state.members).set(instance, { ...member, heard: true }) } : state
    },
    InstanceLeft: (state, { instance }) => without(state, instance),
  },
}
