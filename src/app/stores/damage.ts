import { isTakenAway } from '../../adapters/embedded/files/watched-files.ts'
import { damagedFile } from '../../adapters/embedded/sqlite.ts'
import type { Renewal } from '../../adapters/embedded/views/renewable-views.ts'
import type { Clock } from '../../base/clock.ts'
import { type Failure, failureOf } from '../../base/failure.ts'
import type { EventLog } from '../../events/log.ts'
import { rebuild } from '../../projections/engine/rebuild.ts'
import type { ReadModel } from '../../projections/history/log-marks.ts'
import type { View, Views } from '../../projections/views.ts'
import type { Fatal } from '../telemetry/fatal.ts'
import type { Logger } from '../telemetry/logger.ts'
import { hasOwnLine } from '../telemetry/outage-log.ts'

/** If the read models are damaged more than `MOST` times within `WITHIN_MS`, the service ends. */
const MOST = 2
const WITHIN_MS = 600_000
/** Delay in ms before a failed rebuild is retried. The delay doubles after each failure, up to the maximum. */
const AGAIN_MS = 1_000
const AT_MOST_MS = 60_000
/** Interval in ms of the check whether the rebuilt views contain the newest events. */
const LOOK_MS = 50

const AGAIN = `rollcall ends: the read models were found damaged ${MOST + 1} times within ${WITHIN_MS / 60_000} minutes; check the disk. Their file was renamed, and the next start rebuilds them from the event log`

type RenewalOptions = {
  readonly clock: Clock
  readonly log: EventLog
  readonly views: Pick<Views, 'checkpoint'>
  readonly models: readonly ReadModel[]
  readonly renewal: Renewal
  readonly logger: Pick<Logger, 'info' | 'error'>
  readonly fatal: Fatal
  /** Builds the models into views; stops once the signal aborts. */
  readonly build?: (fresh: Views, signal: AbortSignal) => Promise<void>
}

/** Rebuilds damaged read models from the log while the service runs. Ends the service if the damage recurs. */
export const viewRenewal = (options: RenewalOptions) => {
  const { clock, log, views, models, renewal, logger, fatal } = options
  const { build = (fresh, signal) => rebuild({ clock, log, views: fresh }, models, () => signal.throwIfAborted()) } =
    options
  const stop = new AbortController()
  let times: readonly number[] = []
  let wanted = false
  let running: Promise<void> | undefined

  const position = async (view: View): Promise<bigint> => (await views.checkpoint(view))?.position ?? 0n
  /** Resolves once the views contain every event that was in the log after the rebuild. */
  const followed = async (): Promise<void> => {
    const head = await log.head()
    for (const model of models)
      while ((await position(model)) < head) {
        await clock.sleep(LOOK_MS, stop.signal)
        stop.signal.throwIfAborted()
      }
  }
  const once = async (): Promise<void> => {
    const fresh = await renewal.begin()
    await build(fresh, stop.signal)
    stop.signal.throwIfAborted()
    renewal.built()
    await followed()
    renewal.done()
    logger.info('the read models are complete again, because they were rebuilt from the event log')
  }
  const run = async (): Promise<void> => {
    for (let pause = AGAIN_MS; wanted && !stop.signal.aborted; pause = Math.min(2 * pause, AT_MOST_MS)) {
      wanted = false
      try {
        await once()
      } catch (error) {
        if (stop.signal.aborted) return
        if (!wanted && !hasOwnLine(error))
          logger.error({ err: error }, 'the read models cannot be rebuilt; the service tries again')
        wanted = true
        await clock.sleep(pause, stop.signal)
      }
    }
  }

  const begin = async (): Promise<void> => {
    try {
      await run()
    } finally {
      running = undefined
    }
  }

  return {
    /** Starts a rebuild after the file of the read models was found damaged and set aside. */
    met: (error: Error): void => {
      if (stop.signal.aborted) return
      const now = clock.monotonic()
      times = [...times.filter((time) => now - time < WITHIN_MS), now]
      if (times.length > MOST) {
        stop.abort()
        fatal(error, AGAIN)
        return
      }
      wanted = true
      running ??= begin()
    },
    /** Stops. The next start continues the unfinished rebuild. */
    close: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}

const LOG =
  'rollcall ends: the event log is damaged; list the damage with: rollcall log check. Then restore the file from a backup'
const FILE =
  'rollcall ends: a file of the data directory is damaged; list the damage with: rollcall log check. Then restore the file from a backup'
const TAKEN =
  'rollcall ends: a file of the data directory was moved, removed or replaced; put the files back, or mount their volume, before the next start'
const LOST = 'rollcall ends: this process can no longer write to the data directory'

/** Timeout in ms of the shutdown after a store is lost or damaged. */
const AT_ONCE_MS = 1_000

/** Failure of a start because a file that cannot be rebuilt is damaged. */
export const damagedStart = (what: string): Failure =>
  failureOf(
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
  const ends = (message: string) => (error: Error) =>
    meet(() => fatal(error, message, AT_ONCE_MS), damagedStart(error.message))
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
