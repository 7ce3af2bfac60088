import { type DataOf, reader } from '../events/define.ts'
import { type InstanceEvent, instanceEvents } from '../events/instance.ts'
import type { Decider } from './decider.ts'

type InstanceCommands = {
  RecordStart: DataOf<InstanceEvent, 'InstanceStarted'>
  RecordStop: DataOf<InstanceEvent, 'InstanceStopped'>
  RecordRebuild: DataOf<InstanceEvent, 'ReadModelsRebuilt'>
}

/** Recorded events of the process. */
type InstanceState = { readonly recorded: boolean; readonly started: boolean; readonly stopped: boolean }

/** Decider of the events of one service process. An instance starts and stops at most once. */
export const instance: Decider<InstanceState, InstanceCommands, InstanceEvent> = {
  category: 'instance',
  shapes: instanceEvents,
  read: reader(instanceEvents),
  initial: { recorded: false, started: false, stopped: false },
  exists: ({ recorded }) => recorded,
  decide: {
    RecordStart: ({ started }, data) => (started ? [] : [{ type: 'InstanceStarted', data }]),
    RecordStop: ({ stopped }, data) => (stopped ? [] : [{ type: 'InstanceStopped', data }]),
    RecordRebuild: (_, data) => [{ type: 'ReadModelsRebuilt', data }],
  },
  evolve: {
    InstanceStarted: (state) => ({ ...state, recorded: true, started: true }),
    InstanceStopped: (state) => ({ ...state, recorded: true, stopped: true }),
    ReadModelsRebuilt: (state) => ({ ...state, recorded: true }),
  },
}
