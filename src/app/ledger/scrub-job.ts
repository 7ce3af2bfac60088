import { isRefusal } from '../../base/errors.ts'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Core } from '../core/core.ts'

const NAME = 'ledger-scrub'
/** Time in ms from the start to the first run, and between two looks at a tree that is not built yet. */
const [FIRST_MS, LOOK_MS] = [60_000, 1_000]

/**
 * Periodic comparison of the whole log with the ledger, on one instance. `every` in ms; 0 for never. Each run first
 * examines the files of the store, and destroys again the keys of erased subjects.
 */
export const scrubJob = (
  every: number,
  { clock, stores: { queue, inspect }, intervals, onError }: Pick<Core, 'clock' | 'stores' | 'intervals' | 'onError'>,
  { scrub, state }: Pick<Ledger, 'scrub' | 'state'>,
  eraseAgain: () => Promise<void>,
) => {
  const stop = new AbortController()
  let scheduled = Promise.resolve()
  const schedule = async (): Promise<void> => {
    await clock.sleep(FIRST_MS, stop.signal)
    while (!stop.signal.aborted && state() === 'building') await clock.sleep(LOOK_MS, stop.signal)
    if (stop.signal.aborted) return
    intervals.set(NAME, every)
    const run: Ledger['scrub'] = async (...args) => {
      await inspect?.(args[0])
      await eraseAgain()
      return scrub(...args)
    }
    await queue.schedule({ name: NAME, every, run }).catch((error: unknown) => {
      // A queue that is closed refuses.
      if (!isRefusal(error, 'backend_unavailable')) throw error
    })
  }
  return {
    /** Schedules the job one minute after the start, as soon as the tree is built. */
    begin: (): void => {
      if (every > 0) scheduled = schedule().catch(onError('the comparison of the log with the ledger is not scheduled'))
    },
    /** Schedules nothing any more. The queue aborts a run. */
    close: async (): Promise<void> => {
      stop.abort()
      await scheduled
    },
  }
}
