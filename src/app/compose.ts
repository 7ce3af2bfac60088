import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { aboutOf } from './about.ts'
import { asOf } from '../audit/as-of.ts'
import { digester, plausible } from '../auth/client-token.ts'
import { reservations } from '../commands/reservations.ts'
import { enveloper } from '../commands/envelope.ts'
import { executor } from '../commands/execute.ts'
import type { Config } from '../config/load.ts'
import { sealer } from '../events/personal.ts'
import { METHODS } from '../events/token.ts'
import { bootstrap } from './bootstrap.ts'
import { cookieJar } from '../http/wire/cookies.ts'
import { compileFlag } from '../evaluation/compile.ts'
import { addGauges } from '../http/operations/gauges.ts'
import { addStoreGauges } from '../http/operations/store-gauges.ts'
import { metricsOf, metricsPage } from '../http/operations/metrics.ts'
import { namesOf } from '../contract/identifiers.ts'
import { pageTokens } from '../http/paging.ts'
import { idempotency } from '../http/idempotency.ts'
import type { Service } from '../http/service.ts'
import { tokenVerifier } from '../http/auth/token-verifier.ts'
import { cleanup } from '../jobs/cleanup.ts'
import { refusalHistory } from '../jobs/refusals.ts'
import type { Logger } from './logger.ts'
import { instrumented } from './store-metrics.ts'
import { orderedTime } from './ordered-time.ts'
import { portFaults } from './port-faults.ts'
import { projections } from '../projections/all.ts'
import { flagStore } from '../projections/flag-store.ts'
import { freshness } from '../projections/engine/freshness.ts'
import { runner } from '../projections/engine/runner.ts'
import { tokenIndex } from '../projections/token-index.ts'
import { type TokenDoc, tokens } from '../projections/tokens.ts'
import type { Row } from '../projections/views.ts'
import { quotas } from './quotas.ts'
import { readinessOf } from './readiness.ts'
import { serviceSettings } from './settings.ts'
import type { Stores } from './stores.ts'
import { exchangeOf, loginMethods } from './login-methods.ts'

const TOKENS_HELD = 1_000_000
/** So long a token not known here may wait for the log to be followed, before the views are searched for it. */
const CATCH_UP_MS = 250
const FAILURES_A_MINUTE = 300
const EXCHANGES_A_MINUTE = 60

/** The service over its stores, not yet begun. */
export type Composed = {
  readonly service: Service
  /** Fills memory, makes what every log begins with, and starts the jobs. */
  readonly begin: () => Promise<void>
  /** Says that this instance takes no more requests. */
  readonly drain: () => void
  readonly close: () => Promise<void>
}

/** Puts the service together over its stores. */
export const compose = async (config: Config, opened: Stores, log_: Logger, now: () => Date): Promise<Composed> => {
  const faults = portFaults(log_)
  const onError = (what: string) => (error: unknown) => {
    if (!faults.knows(error)) log_.error({ err: error }, what)
  }
  const names = namesOf(config.identifiers)
  const metrics = metricsOf(metricsPage(names.metricPrefix), { flagLabels: config.metrics.flag_labels })
  const stores = instrumented(opened, metrics, faults)
  const { views, queue, keys, pepper, alone, writes, restarts } = stores
  const time = orderedTime(now, log_)
  const log = time.through(stores.log)
  const instance = `${hostname()}-${randomUUID().slice(0, 8)}`
  const seal = sealer(keys)
  const index = tokenIndex(TOKENS_HELD)
  const held = flagStore(compileFlag)
  const { execute, foldOf } = executor(log, enveloper(seal, instance, now, alone ? time.newest : undefined), {
    admit: quotas(config.quotas, held, index),
  })
  const follower = runner({
    log,
    views,
    projections,
    remember: ({ name }, row, first) =>
      name === tokens.name ? index.remember(row as Row<TokenDoc>, first) : held.set(name, row),
    recall: ({ name }, key) => held.row(name, key),
    writes,
    onError: onError('the read models fell behind'),
  })
  const census = () => index.census(time.present().getTime())
  addGauges(metrics, { log, projections, position: follower.position, census, aheadMs: time.aheadMs })
  const lease = alone ? undefined : freshness({ head: log.head, seen: follower.seen })
  const fresh = () => lease?.fresh() ?? true
  const caughtUp = async () => lease?.caughtUp(CATCH_UP_MS) ?? true
  const intervals = new Map<string, number>()
  addStoreGauges(metrics, {
    queue,
    intervals,
    restarts,
    writesViews: writes,
    refusedRows: follower.refusedRows,
    provenFor: () => lease?.age() ?? 0,
  })
  const digest = digester(pepper)
  const settings = serviceSettings(config)
  const refusals = refusalHistory(execute, now, onError('refusals were not written'))
  let draining = false
  const orchestrator = await exchangeOf(config, faults, now)
  const service: Service = {
    settings,
    names,
    cookies: cookieJar({
      ...settings,
      ...settings.session,
      tokenName: names.tokenCookie,
      stateName: names.stateCookie,
    }),
    instance,
    alone,
    now: time.present,
    log,
    views,
    sealer: seal,
    execute,
    applied: follower.applied,
    seen: follower.seen,
    fresh,
    verifier: tokenVerifier({ index, digest, plausible, log, views, now: time.present, caughtUp }),
    digest,
    pageTokens: pageTokens(pepper.key),
    refusals,
    failures: stores.limiter('failures', FAILURES_A_MINUTE),
    metrics,
    flagStore: held,
    asOf: asOf({ log, views, catalog: held, compile: compileFlag, clock: { now, newest: time.newest } }),
    logins: await loginMethods(config, names, stores, faults, now),
    exchange: orchestrator && { orchestrator, attempts: stores.limiter('exchanges', EXCHANGES_A_MINUTE) },
    idempotency: idempotency({ views, now, instance, replays: metrics.replays(), alone }),
    reservations: reservations(execute, foldOf, randomUUID, now),
    methods: {
      ...config.authentication.methods,
      oidc: {
        ...config.authentication.methods.oidc,
        providers: Object.keys(config.authentication.methods.oidc.providers),
      },
    },
    readiness: readinessOf(stores, () => draining, fresh),
    about: aboutOf(config),
    tell: (record, message) => log_.info(record, message),
  }

  return {
    service,
    begin: async () => {
      await time.begin(log)
      await follower.start(({ done, position, head }) => {
        if (done % 100_000 === 0)
          log_.info({ events: done, position: String(position), head: String(head) }, 'building read models')
      })
      const token = await bootstrap({ ...service, config, digest })
      if (token !== undefined)
        log_
          .child({}, { level: 'info' })
          .info({ client_token: token }, 'bootstrap token created; it is shown only this once')
      const onJump = () =>
        log_.warn(
          'the clock has jumped by more than an hour: expired tokens are ended by the next cleanup, if it stays so',
        )
      for (const method of METHODS) {
        const { enabled, cleanup: times } = config.authentication.methods[method]
        if (!enabled) continue
        const onDeleted = (of: string) => void metrics.cleaned(of).value++
        const of = { method, interval: times.interval, gracePeriod: times.grace_period, onDeleted }
        const job = cleanup({
          ...of,
          execute,
          applied: follower.applied,
          views,
          now: time.present,
          steady: time.steady(),
          onJump,
        })
        intervals.set(job.name, job.every)
        await queue.schedule(job)
      }
      await lease?.prove()
    },
    drain: () => {
      draining = true
    },
    close: async () => {
      await refusals.close()
      await lease?.close()
      await follower.close()
      await stores.close()
    },
  }
}
