import { idempotency } from '../../http/idempotency.ts'
import type { LedgerState } from '../../ledger/ledger-keeper.ts'
import type { Core } from '../core/core.ts'
import { aboutOf } from '../lifecycle/about.ts'
import { presenceOf } from '../lifecycle/presence.ts'
import { readinessOf } from '../lifecycle/readiness.ts'
import { recordLogIdentity } from '../stores/verify-log-and-views.ts'
import { oncePerMinute } from '../telemetry/warnings.ts'

/** This instance: its readiness, its lines in the log of the service, and its start and stop in the history. */
export const instanceOf = (core: Core, ledgerState: () => LedgerState) => {
  const { config, clock, logger, stores, instance, metrics, fresh, closed, follower, following } = core
  const about = aboutOf(config)
  const { start, stop, rebuilt } = presenceOf(config, core, about, logger)
  let draining = false
  return {
    services: {
      about,
      readiness: readinessOf(clock, stores, () => draining, fresh, closed.none, follower.caughtUp, ledgerState),
      idempotency: idempotency({ ...core, now: core.now, instance, replays: metrics.replays() }),
      lines: {
        tell: logger.info.bind(logger) as (record: Readonly<Record<string, unknown>>, message: string) => void,
        warn: oncePerMinute(logger.warn.bind(logger), clock.now),
      },
    },
    begin: async (): Promise<void> => {
      await recordLogIdentity(stores)
      const found = following.rebuilt()
      if (found) await rebuilt(found)
    },
    /** Records the start of this instance. */
    recordStart: start,
    drain: (): void => void (draining = true),
    close: stop,
  }
}
