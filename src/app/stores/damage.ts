import { fail } from '../../failure.ts'
import type { Fatal } from '../telemetry/fatal.ts'

const LOG =
  'rollcall ends: the history is damaged; see all of it with: rollcall log check. Bring the file back from the backup'
const LOST = 'rollcall ends: the embedded store can be written no more by this process'

/** A store that is lost is not worth waiting for: milliseconds that its orderly end may take. */
const AT_ONCE_MS = 1_000

/** The error of a start that met damage of a file which nothing can make anew. */
export const damagedStart = (what: string): never =>
  fail(
    'failed',
    what,
    'Bring the file back from the backup; docs/guides/operations.md says how. What is wrong with a history is told by: rollcall log check.',
  )

/**
 * What comes of files that are found damaged. While it starts, the start fails at once, whatever it waits for; where the read models alone are at
 * fault it may be tried again. Once the service runs it ends at once, or has damaged read models made anew (`renew`).
 */
export const damageWatch = (fatal: Fatal, renew: (error: Error) => void) => {
  let running = false
  let views = false
  let met = false
  let lose: (error: unknown) => void = () => undefined
  const lost = new Promise<never>((_, reject) => (lose = reject))
  lost.catch(() => undefined)

  const meet = (end: () => void, failed: unknown) => {
    met = true
    if (running) end()
    else lose(failed)
  }
  const ends = (message: string) => (error: Error) => meet(() => fatal(error, message, AT_ONCE_MS), failure(error))
  const failure = (error: Error): unknown => {
    try {
      return damagedStart(error.message)
    } catch (failed) {
      return failed
    }
  }
  return {
    onLost: ends(LOST),
    onDamage: ends(LOG),
    onDamagedViews: (error: Error): void => {
      views = true
      meet(() => renew(error), error)
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
