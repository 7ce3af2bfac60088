import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { traveller } from './audit/travel.ts'
import { digester, plausible } from './auth/secret.ts'
import { claims } from './commands/claims.ts'
import { enveloper } from './commands/envelope.ts'
import { executor } from './commands/execute.ts'
import type { Config } from './config.ts'
import { publicConfig } from './config/describe.ts'
import { sealer } from './events/personal.ts'
import { firstStart } from './first-start.ts'
import { aroundRoutes } from './http/around.ts'
import { authorizer } from './http/access.ts'
import { cookieJar } from './http/cookies.ts'
import { compileFlag } from './evaluation/compile.ts'
import { limiter } from './http/limits.ts'
import { metricsOf, metricsPage } from './http/metrics.ts'
import { methods, namesOf } from './http/names.ts'
import { observer } from './http/observe.ts'
import { pageTokens } from './http/paging.ts'
import { requests } from './http/requests.ts'
import { mountRoutes } from './http/routes.ts'
import { httpServer, shutDown } from './http/server.ts'
import type { Service } from './http/service.ts'
import { tokenCheck } from './http/token-check.ts'
import { cleanup } from './jobs/cleanup.ts'
import { refusalHistory } from './jobs/refusals.ts'
import { logger } from './logger.ts'
import { projections } from './projections/all.ts'
import { catalog } from './projections/catalog.ts'
import { runner } from './projections/runner.ts'
import { tokenIndex } from './projections/token-index.ts'
import { type TokenDoc, tokens } from './projections/tokens.ts'
import type { Row } from './projections/views.ts'
import { serverSettings, serviceSettings } from './settings.ts'
import { openStores } from './stores.ts'
import { exchangeOf, loginsOf } from './ways.ts'

export { createTokenOffline, projectionStatus, rebuildProjections } from './offline.ts'

const TOKENS_HELD = 1_000_000
const PATIENCE_MS = 10_000
const FAILURES_A_MINUTE = 300
const EXCHANGES_A_MINUTE = 60

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }

export type Running = { readonly url: string; readonly close: () => Promise<void> }
export type StartOptions = { readonly warnings?: readonly string[]; readonly now?: () => Date }

/** Starts the service: stores, read models, first tokens, jobs, HTTP. Resolves when it listens; `close` finishes running requests first. */
export const start = async (config: Config, { warnings = [], now = () => new Date() }: StartOptions = {}): Promise<Running> => {
  const log_ = logger(config.log)
  for (const warning of warnings) log_.warn(warning)
  const onError = (what: string) => (error: unknown) => log_.error({ err: error }, what)
  const stores = await openStores(config, (job, error) => log_.error({ err: error, job }, 'a job failed'))
  const { log, views, queue, keys, pepper } = stores
  try {
    const instance = `${hostname()}-${randomUUID().slice(0, 8)}`
    const seal = sealer(keys)
    const execute = executor(log, enveloper(seal, instance, now))
    const names = namesOf({ ...config.identifiers, orchestratorMetadata: config.identifiers.orchestrator_metadata })
    const metrics = metricsOf(metricsPage(names.metricPrefix))
    const index = tokenIndex(TOKENS_HELD)
    const held = catalog(compileFlag)
    const follower = runner({
      log,
      views,
      projections,
      remember: ({ name }, row) => (name === tokens.name ? index.remember(row as Row<TokenDoc>) : held.set(name, row)),
      recall: ({ name }, key) => held.row(name, key),
      onError: onError('the read models fell behind'),
    })
    await follower.start(({ done, position, head }) => {
      if (done % 100_000 === 0) log_.info({ events: done, position: String(position), head: String(head) }, 'building read models')
    })

    const digest = digester(pepper)
    const settings = serviceSettings(config)
    const refusals = refusalHistory(execute, now, onError('refusals were not written'))
    let draining = false
    const orchestrator = await exchangeOf(config, now)
    const service: Service = {
      settings,
      names,
      cookies: cookieJar({ ...settings, ...settings.session, tokenName: names.tokenCookie, stateName: names.stateCookie }),
      instance,
      now,
      log,
      views,
      sealer: seal,
      execute,
      applied: follower.applied,
      seen: follower.seen,
      fresh: () => true,
      check: tokenCheck({ index, digest, plausible, log, views, now, indexIsWhole: () => stores.alone && index.complete() }),
      digest,
      pageTokens: pageTokens(pepper.key),
      refusals,
      failures: limiter(FAILURES_A_MINUTE),
      metrics,
      catalog: held,
      past: traveller({ log, views, catalog: held, compile: compileFlag, now }),
      logins: await loginsOf(config, names, pepper.key, now),
      exchange: orchestrator && { orchestrator, attempts: limiter(EXCHANGES_A_MINUTE) },
      requests: requests({ views, now, instance, metrics }),
      claims: claims(execute, log, randomUUID, now),
      methods: {
        ...config.authentication.methods,
        oidc: { ...config.authentication.methods.oidc, providers: Object.keys(config.authentication.methods.oidc.providers) },
      },
      readiness: async () => {
        const store = await log.head().then(
          () => 'ok' as const,
          () => 'failed' as const,
        )
        const checks = [
          { name: 'log', status: store },
          { name: 'listener', status: draining ? 'failed' : 'ok' },
        ] as const
        return { ready: checks.every(({ status }) => status === 'ok'), checks }
      },
      about: aboutOf(config),
      warn: (record, message) => log_.warn(record, message),
    }

    const token = await firstStart({ ...service, config, digest })
    if (token !== undefined) log_.info({ client_token: token }, 'bootstrap token created; it is shown only this once')
    for (const method of methods) {
      const { enabled, cleanup: times } = config.authentication.methods[method]
      if (!enabled) continue
      const onDeleted = (of: string) => void metrics.cleaned(of).value++
      const job = { method, interval: times.interval, gracePeriod: times.grace_period, onDeleted }
      await queue.schedule(cleanup({ ...job, execute, applied: follower.applied, views, now }))
    }

    const app = await httpServer({
      config: serverSettings(config),
      logger: log_,
      authorize: authorizer(service),
      afterParse: aroundRoutes(service),
      routes: [(app) => mountRoutes(app, service)],
      answered: observer(service, log_),
      version,
    })
    const { protocol, host, http_port, https_port } = config.server
    await app.listen({ host, port: protocol === 'https' ? https_port : http_port })
    const address = app.server.address()
    const port = typeof address === 'object' && address ? address.port : http_port
    const url = `${protocol}://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`
    log_.info({ url, instance, storage: config.storage.type }, 'rollcall is listening')

    return {
      url,
      close: async () => {
        draining = true
        await shutDown(app, PATIENCE_MS)
        await refusals.close()
        await follower.close()
        await stores.close()
        log_.info('rollcall has stopped')
      },
    }
  } catch (error) {
    await stores.close()
    throw error
  }
}

const aboutOf = (config: Config): Service['about'] => ({
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
