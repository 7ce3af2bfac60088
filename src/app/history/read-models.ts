import { eventIndex } from '../../history/event-index/projection.ts'
import { logMarksAndStates, projections } from '../../projections/all.ts'
import type { LogProjection, ReadModel } from '../../projections/history/log-projection.ts'

/** Log projections, sealed with a key of the service. */
export const logProjectionsOf = (key: Uint8Array): readonly LogProjection[] => [
  ...logMarksAndStates(key),
  eventIndex(key),
]

/** All read models. */
export const readModelsOf = (key: Uint8Array): readonly ReadModel[] => [...projections, ...logProjectionsOf(key)]
