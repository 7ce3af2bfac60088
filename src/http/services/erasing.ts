import type { SubjectEraser } from '../../commands/erase-subject.ts'
import type { Keys } from '../../events/personal.ts'
import type { ErasureStore } from '../../projections/erasures.ts'

/** Services for the erasure of subjects. */
export type ErasingServices = {
  readonly eraser: SubjectEraser
  /** Erasures in memory. */
  readonly erasures: Pick<ErasureStore, 'of' | 'row'>
  readonly keyStates: Keys['states']
}
