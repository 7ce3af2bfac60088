import { lives } from './history/incarnations.ts'
import { logMarks } from './history/log-marks.ts'
import type { ReadModel } from './history/log-projection.ts'
import { streamStates } from './history/stream-states.ts'
import { resources } from './resources.ts'

/** Read models with one row per stream. */
export const projections = [...resources, ...lives]

/** Log projections, sealed with a key of the service. */
export const logProjectionsOf = (key: Uint8Array) => [logMarks(key), streamStates(key)]

/** All read models. */
export const readModelsOf = (key: Uint8Array): readonly ReadModel[] => [...projections, ...logProjectionsOf(key)]
