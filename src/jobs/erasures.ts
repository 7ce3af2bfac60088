import type { SubjectEraser } from '../commands/erase-subject.ts'
import type { ErasureStore } from '../projections/erasures.ts'
import type { Job } from './queue.ts'

/** Interval in ms of the search for interrupted erasures. */
const EVERY_MS = 60_000

/** Finishes the erasures that were requested and not completed, for example because the process was killed. */
export const unfinishedErasures = (
  erasures: Pick<ErasureStore, 'all'>,
  { finish }: Pick<SubjectEraser, 'finish'>,
): Job => ({
  name: 'erasures',
  every: EVERY_MS,
  run: async (signal) => {
    for (const [subject, { keys, left }] of erasures.all())
      if (left !== undefined && !signal.aborted) await finish(subject, keys, signal)
  },
})
