import { randomUUID } from 'node:crypto'
import { asOf } from '../as-of/as-of.ts'
import { reservations } from '../commands/reservations.ts'
import type { Config } from '../config/load.ts'
import { compileFlag } from '../evaluation/compile.ts'
import { asOfReadings } from '../http/as-of-readings.ts'
import { idempotency } from '../http/idempotency.ts'
import { pageTokens } from '../http/lists/paging.ts'
import type { Service } from '../http/services/service.ts'
import { cookieJar } from '../http/wire/cookies.ts'
import { lastUses } from '../jobs/last-uses.ts'
import { refusalHistory } from '../jobs/refusals.ts'
import { aboutOf } from './about.ts'
import type { AsOfReader } from './as-of-thread/worker.ts'
import { authServicesOf } from './auth/auth-services.ts'
import type { Core } from './core.ts'
import { erasingServicesOf } from './erasures.ts'
import { flagStreamsOf } from './flag-streams.ts'
import { historyServicesOf } from './history/services.ts'
import { readinessOf } from './lifecycle/readiness.ts'
import { serviceSettings } from './settings.ts'
import type { Logger } from './telemetry/logger.ts'
import { oncePerMinute } from './telemetry/warnings.ts'

const FAILURES_A_MINUTE = 300

/** Returns true while this instance is fresh and does not doubt the log. */
export const freshOf =
  ({ lease, guard }: Pick<Core, 'lease' | 'guard'>) =>
  (): boolean =>
    (lease?.fresh() ?? true) && !guard?.suspicious()

const lastUsesOf = ({ clock, onError, stores: { views } }: Core) => ({
  uses: lastUses({
    table: 'token-uses',
    views,
    clock,
    onError: onError('the times at which tokens were last used cannot be stored'),
  }),
  evaluations: lastUses({
    table: 'flag-uses',
    views,
    clock,
    onError: onError('the times at which flags were last evaluated cannot be stored'),
  }),
})

type Parts = Pick<Service, 'policy' | 'ledger'> & {
  readonly logger: Logger
  readonly past: AsOfReader
  readonly draining: () => boolean
}

/** Creates the services that the routes use. */
export const serviceOf = async (
  config: Config,
  core: Core,
  { logger, past, ledger, draining, policy }: Parts,
): Promise<Service> => {
  const { clock, onError, names, metrics, budgets, stores, time, log, instance, seal } = core
  const { flagStore, execute, follower, lives, closed } = core
  const fresh = freshOf(core)
  const { views, pepper, alone, limiter } = stores
  const settings = serviceSettings(config)
  const pasts = historyServicesOf(config, core)
  return {
    settings,
    names,
    cookies: cookieJar({
      ...settings,
      ...settings.session,
      tokenName: names.tokenCookie,
      stateName: names.stateCookie,
      clock,
    }),
    instance,
    alone,
    now: time.present,
    clock,
    budgets,
    log,
    views,
    sealer: seal,
    execute,
    applied: follower.applied,
    seen: follower.seen,
    viewsReached: follower.viewsReached,
    fresh,
    ...(await authServicesOf(config, core, { policy })),
    pageTokens: pageTokens(pepper.key),
    refusals: refusalHistory(execute, clock, onError('refused requests cannot be recorded')),
    ...lastUsesOf(core),
    failures: limiter('failures', FAILURES_A_MINUTE),
    clients: settings.rateLimited && settings.clientLimit > 0 ? limiter('clients', settings.clientLimit) : undefined,
    metrics,
    tracer: core.tracer,
    flagStore,
    closed,
    asOf: asOf({
      log,
      reads: past,
      lives,
      closed,
      present: flagStore.row,
      seen: follower.seen,
      viewsReached: follower.viewsReached,
      compile: compileFlag,
      clock: { now: clock.now, newest: time.newest },
    }),
    pastReadings: asOfReadings(metrics, clock),
    ...pasts,
    flagStreams: flagStreamsOf(config, core, fresh),
    ...erasingServicesOf(core, pasts.history),
    ledger,
    idempotency: idempotency({ views, now: clock.now, instance, replays: metrics.replays(), alone }),
    reservations: reservations(execute, core.foldOf, randomUUID, clock.now),
    rehearsal: {
      execute: core.rehearse,
      reservations: reservations(core.rehearse, core.foldOf, randomUUID, clock.now),
    },
    readiness: readinessOf(clock, stores, draining, fresh, core.closed.none, follower.caughtUp, ledger.state),
    about: aboutOf(config),
    tell: (record, message) => logger.info(record, message),
    warn: oncePerMinute(logger.warn.bind(logger), clock.now),
  }
}
