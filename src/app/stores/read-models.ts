import { eventIndex } from '../../history/event-index/projection.ts'
import { projections } from '../../projections/all.ts'
import type { ReadModel } from '../../projections/history/log-marks.ts'
import { logMarksAndStates } from '../../projections/history/stream-states.ts'

/** Read models that requests wait for. They follow the log event by event. */
export const followedModelsOf = (key: Uint8Array): readonly ReadModel[] => [...projections, ...logMarksAndStates(key)]

/** All read models. */
export const readModelsOf = (key: Uint8Array): readonly ReadModel[] => [...followedModelsOf(key), eventIndex(key)]
