import { resources } from './resources.ts'
import type { ReadModel } from './chronicle.ts'
import { lives } from './lives.ts'
import { logMarks } from './log-marks.ts'
import { streamStates } from './stream-states.ts'

/** Every read model with a row for each stream. */
export const projections = [...resources, ...lives]

/** The read models of the log itself, under a key that the service alone has. */
export const chroniclesOf = (key: Uint8Array) => [logMarks(key), streamStates(key)]

/** Every read model there is. */
export const readModelsOf = (key: Uint8Array): readonly ReadModel[] => [...projections, ...chroniclesOf(key)]
