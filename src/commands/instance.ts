import { type DataOf, reader } from '../events/define.ts'
import { type InstanceEvent, instanceEvents } from '../events/instance.ts'
import type { Decider } from './decider.ts'

type InstanceCommands = { RecordRebuild: DataOf<InstanceEvent, 'ReadModelsRebuilt'> }

/** Decider of the events of one service process. */
export const instance: Decider<{ readonly recorded: boolean }, InstanceCommands, InstanceEvent> = {
  category: 'instance',
  shapes: instanceEvents,
  read: reader(instanceEvents),
  initial: { recorded: false },
  exists: ({ recorded }) => recorded,
  decide: { RecordRebuild: (_, data) => [{ type: 'ReadModelsRebuilt', data }] },
  evolve: { ReadModelsRebuilt: () => ({ recorded: true }) },
}
