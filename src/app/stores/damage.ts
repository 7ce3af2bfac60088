import { isTakenAway } from '../../adapters/embedded/files/watched-files.ts'
import { damagedFile } from '../../adapters/embedded/sqlite.ts'
import { fail } from '../../base/failure.ts'
import type { Fatal } from '../telemetry/fatal.ts'

const LOG =
  'rollcall ends: the event log is damaged; list the damage with: rollcall log check. Then restore the file from a backup'
const FILE =
  'rollcall ends: a file of the data directory is damaged; list the damage with: rollcall log check. Then restore the file from a backup'
const TAKEN =
  'rollcall ends: a file of the data directory was moved, removed or replaced; put the files back, or mount their volume, before the next start'
const LOST = 'rollcall ends: this process can no longer write to the data directory'

/** Timeout in ms of the shutdown after a store is lost or damaged. */
const AT_ONCE_MS = 1_000

/** Fails the start because a file that cannot be rebuilt is damaged. */
export const damagedStart = (what: string): never =>
  fail(
    'failed',
    what,
    'Restore the file from the backup: see docs/guides/operations.md. To list the damage of an event log, run: rollcall log check',
  )

/**
 * Decides what happens when a file is found damaged. During a start, the start fails immediately; if only the read
 * models are damaged, the caller may retry it. Later, the service ends, or `renew` rebuilds the damaged read models.
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
    onLost: (error: Error): void => ends(isTakenAway(error) ? TAKEN : LOST)(error),
    onDamage: (error: Error): void =>
      ends(/(?:subjects|ledger)\.sqlite$/.test(damagedFile(error) ?? '') ? FILE : LOG)(error),
    onDamagedViews: (error: Error): void => {
      views = true
      meet(() => renew(error), error)
    },
    /** Resolves with the work of a start; rejects as soon as damage is found. */
    during: async (work: Promise<unknown>): Promise<void> => {
      await Promise.race([work, lost])
      if (met) await lost
      running = true
    },
    /** True if the start failed only because of damaged read models. */
    ofViews: (): boolean => views,
  }
}
