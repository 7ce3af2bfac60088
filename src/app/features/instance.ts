import { type Clock, withTimeout } from '../../base/clock.ts'
import { version } from '../../base/version.ts'
import { publicConfig } from '../../config/describe.ts'
import type { Config } from '../../config/load.ts'
import type { InstanceServices } from '../../http/services/instance.ts'
import { idempotency } from '../../http/steps/idempotency.ts'
import type { LedgerState } from '../../ledger/follower.ts'
import { resources } from '../../projections/all.ts'
import { clusterMember } from '../core/cluster-member.ts'
import type { Core } from '../core/core.ts'
import { presenceOf } from '../lifecycle/presence.ts'
import type { Stores } from '../stores/stores.ts'
import { recordLogIdentity } from '../stores/verify-log-and-views.ts'
import { oncePerMinute } from '../telemetry/limited-lines.ts'

/** Membership of this instance in the cluster; none on an embedded store. */
export const membershipOf = (core: Core) => {
  const { config, log, lease } = core
  if (!lease) return {}
  const onError = core.onError('the list of running instances in the event log cannot be updated')
  const { join, leave } = clusterMember({ ...core, version, fresh: lease.fresh, onError })
  return {
    begin: async (): Promise<void> => join(config.eventstore.all_on_roll || (await log.first()) === undefined),
    close: leave,
  }
}

/** Timeout in ms of the readiness checks. A check without an answer by then fails. */
const PATIENCE_MS = 1000

/** Status of the check of the ledger. It never makes an instance unready. */
const LEDGER = { ok: 'ok', building: 'degraded', suspended: 'failed', diverged: 'failed' } as const

/**
 * Readiness checks. An unavailable queue, unavailable views on servers, a full disk and unreadable documents degrade an
 * instance, but it stays ready.
 */
export const readinessOf = (
  clock: Clock,
  { log, views, queue, alone, sharing, full, renewal }: Stores,
  draining: () => boolean,
  fresh: () => boolean,
  readable: () => boolean,
  caughtUp: () => Promise<boolean>,
  ledgerState: () => LedgerState,
): InstanceServices['readiness'] => {
  const holds = (work: Promise<boolean>): Promise<boolean> => {
    const done = work.catch(() => false)
    return withTimeout(clock, PATIENCE_MS, done, () => false)
  }
  const works = (work: Promise<unknown>): Promise<boolean> => holds(work.then(() => true))
  const status = (good: boolean, bad: 'failed' | 'degraded') => (good ? 'ok' : bad)
  return async () => {
    const reach = [works(log.head()), works(views.checkpoint(resources[0]!)), works(queue.runs()), holds(caughtUp())]
    const [store, viewed, jobs, whole] = (await Promise.all(reach)) as [boolean, boolean, boolean, boolean]
    const renewed = renewal?.isWhole() === false
    const checks = [
      { name: 'log', status: status(store, 'failed') },
      {
        name: 'views',
        status: status(whole && viewed && !renewed, !whole || (alone && !renewed) ? 'failed' : 'degraded'),
      },
      { name: 'storage', status: status(!full(), 'degraded') },
      { name: 'events', status: status(readable(), 'degraded') },
      { name: 'queue', status: status(jobs && sharing(), 'degraded') },
      { name: 'freshness', status: status(fresh(), 'failed') },
      { name: 'listener', status: status(!draining(), 'failed') },
    ] as const
    const ready = checks.every((check) => check.status !== 'failed')
    return { ready, checks: [...checks, { name: 'ledger', status: LEDGER[ledgerState()] }] }
  }
}

/** Version and configuration without secrets, for GET /meta/info and GET /meta/config. */
export const aboutOf = (config: Config): InstanceServices['about'] => ({
  info: {
    version,
    latestVersion: version,
    commit: process.env['ROLLCALL_COMMIT'] ?? '',
    buildDate: process.env['ROLLCALL_BUILD_DATE'] ?? '',
    nodeVersion: process.version,
    updateAvailable: false,
    isRelease: !version.includes('-'),
    os: process.platform,
    arch: process.arch,
    authentication: { required: config.authentication.required },
    storage: { type: config.storage.type, readOnly: config.storage.read_only },
    analytics: { enabled: false },
    ui: { theme: config.ui.default_theme, topbarColor: config.ui.topbar.color ?? '' },
  },
  config: publicConfig(config),
})

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
    recordStart: start,
    drain: (): void => void (draining = true),
    close: stop,
  }
}
