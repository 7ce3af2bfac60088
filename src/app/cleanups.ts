import type { Config } from '../config/load.ts'
import { METHODS } from '../events/token.ts'
import { waitForTokenView } from '../http/lists/wait-for-token-view.ts'
import { cleanup } from '../jobs/cleanup.ts'
import type { Core } from './core.ts'
import type { Logger } from './telemetry/logger.ts'

/** Timeout in ms for the views to catch up with the log before a run. After a start the views may lag far behind. */
const VIEWS_MS = 30_000
const CLOCK_JUMPED =
  'this cleanup of expired tokens is skipped, because the clock has jumped by more than an hour; the next cleanup runs as usual, unless the clock jumps again'

/** Schedules the cleanup of each enabled method. */
export const scheduleCleanups = async (
  { authentication }: Config,
  { stores, log, time, metrics, execute, follower, intervals }: Core,
  logger: Logger,
): Promise<void> => {
  for (const method of METHODS) {
    const { enabled, cleanup: times } = authentication.methods[method]
    if (!enabled) continue
    const job = cleanup({
      method,
      interval: times.interval,
      gracePeriod: times.grace_period,
      execute,
      applied: follower.applied,
      views: stores.views,
      complete: () => waitForTokenView({ log, viewsReached: follower.viewsReached }, VIEWS_MS),
      now: time.present,
      steady: time.steady(),
      onDeleted: (of) => void metrics.cleaned(of).value++,
      onJump: () => logger.warn(CLOCK_JUMPED),
    })
    intervals.set(job.name, job.every)
    await stores.queue.schedule(job)
  }
}
