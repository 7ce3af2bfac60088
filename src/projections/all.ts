import { erasures } from './erasures.ts'
import { lives } from './history/incarnations.ts'
import { logMarks } from './history/log-marks.ts'
import { streamStates } from './history/stream-states.ts'
import { anyProjection } from './projection.ts'
import { resources } from './resources.ts'

/** Read models with one row per stream. */
export const projections = [...resources, ...lives, anyProjection(erasures)]

/** Marks in the log, and stored states of streams, with MACs under a key of the service. */
export const logMarksAndStates = (key: Uint8Array) => [logMarks(key), streamStates(key)]
