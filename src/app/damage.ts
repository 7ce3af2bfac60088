import { fail } from '../cli/failure.ts'
import type { Fatal } from './fatal.ts'

const VIEWS =
  'rollcall ends: the read models are damaged; their file is set aside, and the next start builds them anew from the history'
const LOG =
  'rollcall ends: the history is damaged; see all of it with: rollcall log check. Bring the file back from the backup'
const LOST = 'rollcall ends: the embedded store can be written no more by this process'

/** The error of a start that met damage of a file which nothing can make anew. */
export const damagedStart = (what: string): never =>
  fail(
    'failed',
    what,
    'Bring the file back from the backup; docs/guides/operations.md says how. What is wrong with a history is told by: rollcall log check.',
  )

/**
 * What comes of files that are found damaged. Once the service runs it ends. While it starts, the start fails at once, whatever it waits for;
 * where the read models alone are at fault it may be tried again.
 */
export const damageWatch = (fatal: Fatal) => {
  let running = false
  let views = false
  let met = false
  let lose: (error: unknown) => void = () => undefined
  const lost = new Promise<never>((_, reject) => (lose = reject))
  lost.catch(() => undefined)

  const meet = (error: Error, message: string, failed: () => unknown) => {
    met = true
    if (running) fatal(error, message)
    else lose(failed())
  }
  const failure = (error: Error): unknown => {
    try {
      return damagedStart(error.message)
    } catch (failed) {
      return failed
    }
  }
  return {
    onLost: (error: Error): void => meet(error, LOST, () => failure(error)),
    onDamage: (error: Error): void => meet(error, LOG, () => failure(error)),
    onDamagedViews: (error: Error): void => {
      views = true
      meet(error, VIEWS, () => error)
    },
    /** The work of a start, or a rejection as soon as damage is met. */
    during: async (work: Promise<unknown>): Promise<void> => {
      await Promise.race([work, lost])
      if (met) await lost
      running = true
    },
    /** True where a start failed for the read models alone. */
    ofViews: (): boolean => views,
  }
}
