import { SYSTEM } from '../commands/envelope.ts'
import type { SubjectEraser } from '../commands/erase-subject.ts'
import type { Keys } from '../events/personal.ts'
import type { ErasureStore } from '../projections/erasures.ts'
import type { Job } from './queue.ts'

const HOUR_MS = 3_600_000
/** Maximum number of days that one call lists. */
const BATCH = 100

type NetworkLifeOptions = {
  /** Time in ms after the end of a day at which its addresses are erased. */
  readonly life: number
  readonly keys: Pick<Keys, 'between'>
  readonly eraser: Pick<SubjectEraser, 'erase'>
  readonly now: () => Date
  /** Returns false if the clock has jumped since the last run. */
  readonly steady: () => boolean
  readonly onJump: () => void
}

/**
 * Erases the addresses of callers without a credential (`network-<day>`) when they reach the age of
 * `history.network_life`. The run after a clock jump does nothing, because an erasure cannot be undone.
 */
export const networkLife = ({ life, keys, eraser, now, steady, onJump }: NetworkLifeOptions): Job => ({
  name: 'network-life',
  every: HOUR_MS,
  run: async (signal, tell) => {
    const limit = new Date(now().getTime() - life)
    if (!steady()) return onJump()
    const below = `network-${limit.toISOString().slice(0, 10)}`
    let done = 0
    for (let days: readonly string[] = []; !signal.aborted; ) {
      days = await keys.between('network-', below, BATCH)
      for (const day of days) {
        if (signal.aborted) return
        await eraser.erase(day, 'history.network_life', SYSTEM, signal)
        tell({ done: ++done })
      }
      if (days.length < BATCH) return
    }
  },
})

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
