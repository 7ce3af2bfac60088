import { lives } from './history/incarnations.ts'
import { logMarks } from './history/log-marks.ts'
import type { ReadModel } from './history/log-projection.ts'
import { streamStates } from './history/stream-states.ts'
import { resources } from './resources.ts'

/** Every read model with a row for each stream. */
export const projections = [...resources, ...lives]

/** The read models of the log itself, under a key that the service alone has. */
export const logProjectionsOf = (key: Uint8Array) => [logMarks(key), streamStates(key)]

/** Every read model there is. */
export const readModelsOf = (key: Uint8Array): readonly ReadModel[] => [...projections, ...logProjectionsOf(key)]
