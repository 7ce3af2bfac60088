import type { SubjectEraser } from '../../commands/erase-subject.ts'
import type { Keys } from '../../events/personal.ts'
import type { ErasureStore } from '../../projections/erasures.ts'

/** Services for the erasure of subjects. */
export type ErasingServices = {
  readonly eraser: SubjectEraser
  /** Erasures in memory. */
  readonly erasures: Pick<ErasureStore, 'of' | 'row'>
  readonly keyStates: Keys['states']
  /**
   * Subject of a person at the next login: the pseudonym of the person, or after the nth erasure the pseudonym with the
   * suffix `.<n+1>`. Its key exists.
   */
  readonly subjectAtLogin: (person: string) => Promise<string>
}
