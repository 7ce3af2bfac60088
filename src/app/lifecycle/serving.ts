import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import { version } from '../../base/version.ts'
import { placeOf } from '../../config/addresses.ts'
import type { Config } from '../../config/load.ts'
import { authorizer } from '../../http/auth/authorize.ts'
import type { Budgets } from '../../http/memory/room.ts'
import { observer } from '../../http/operations/request-log.ts'
import { requestSpans } from '../../http/operations/request-spans.ts'
import { metricsRoutes } from '../../http/routes/metrics.ts'
import { uiRoutes } from '../../http/routes/ui.ts'
import { mountRoutes } from '../../http/routes.ts'
import { type HttpSettings, httpServer } from '../../http/server.ts'
import { preconditions } from '../../http/steps/preconditions.ts'
import type { UiFile, UiFiles } from '../../http/ui/page.ts'
import { uiPage } from '../../http/ui/page.ts'
import { bind, openPort, type Port, unbind } from '../../http/wire/port.ts'
import { largeHeaderSpells } from '../telemetry/limited-lines.ts'
import type { Logger } from '../telemetry/logger.ts'

const BUILT = join(import.meta.dirname, '../../../ui')
const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const read = (path: string): Buffer | undefined => (existsSync(path) ? readFileSync(path) : undefined)

/**
 * Reads the files of `dist/ui` once. Returns undefined if the UI is off; logs a warning and returns `unbuilt` if the UI
 * is not built.
 */
const uiFiles = (
  { ui }: Pick<Config, 'ui'>,
  logger: Logger,
  directory: string = BUILT,
): UiFiles | 'unbuilt' | undefined => {
  if (!ui.enabled) return undefined
  const page = read(join(directory, 'index.html'))
  const icon = read(join(directory, 'icon.svg'))
  if (!page || !icon) {
    logger.warn({ directory }, 'the files of the web UI are missing; run npm run build, or set ui.enabled: false')
    return 'unbuilt'
  }
  const folder = join(directory, 'assets')
  const assets = new Map<string, UiFile>()
  for (const name of readdirSync(folder)) {
    const type = types[extname(name)]
    if (type === undefined) continue
    const path = join(folder, name)
    assets.set(name, { type, plain: readFileSync(path), br: read(`${path}.br`), gzip: read(`${path}.gz`) })
  }
  return { page: page.toString('utf8'), icon, assets }
}

type Service = Parameters<typeof mountRoutes>[1] &
  Parameters<typeof authorizer>[0] &
  Parameters<typeof preconditions>[0] & { readonly budgets: Budgets }

const FORWARDED =
  'a client sent X-Forwarded headers, but its address is not in server.trust_proxy; the headers are ignored, and all clients behind this address count as one client'

/**
 * Binds the ports before anything is created, so that a failed start leaves nothing behind. The first port is that of
 * the service.
 */
export const bound = async (
  { server, metrics }: Config,
  settings: HttpSettings,
  clock: Clock,
): Promise<readonly [Port, ...(readonly Port[])]> => {
  const port = openPort(settings, clock)
  const { host, http_port, https_port } = server
  await bind(port, {
    host,
    port: settings.tls ? https_port : http_port,
    choose: { port: '--port N', host: '--host ADDRESS' },
  })
  const place = metrics.enabled && metrics.address !== undefined && placeOf(metrics.address)
  if (!place) return [port]
  const { tls: _, ...plain } = settings
  const second = openPort(plain, clock)
  try {
    await bind(second, { ...place, choose: { port: 'metrics.address', host: 'metrics.address' } })
    return [port, second]
  } catch (error) {
    await unbind(port)
    throw error
  }
}

/**
 * Starts the HTTP servers on the bound ports: that of the service, and that of the metrics if it has its own address.
 */
export const serving = async (
  config: Config,
  logger: Logger,
  service: Service,
  settings: HttpSettings,
  [port, second]: readonly Port[],
) => {
  const level = config.authentication.open_on_purpose.includes('forwarded') ? 'info' : 'warn'
  let warned = false
  const onUntrusted = (): void => {
    if (!warned) logger[level](FORWARDED)
    warned = true
  }
  const shared = {
    logger,
    clock: service.clock,
    budgets: service.budgets,
    authorize: authorizer(service),
    answered: observer(service, logger),
    onUntrusted,
    onLargeHeaders: largeHeaderSpells(logger, service.clock),
  }
  const { tracer } = service
  const spans = tracer && requestSpans(tracer, config.server.protocol)
  const ui = uiFiles(config, logger)
  const app = await httpServer({
    ...shared,
    ...(spans && { spans, answered: spans.answered(shared.answered) }),
    config: settings,
    ...preconditions(service),
    routes: [
      (app) => mountRoutes(app, service),
      (app) => {
        if (ui && ui !== 'unbuilt') uiRoutes(app, ui)
      },
    ],
    ...(ui && { page: uiPage(ui, { publicUrl: service.settings.publicUrl, basePath: service.cookies.basePath }) }),
    documents: { version, names: service.names },
    port: port!,
  })
  const { cors: _, ...plain } = settings
  return second
    ? [
        app,
        await httpServer({ ...shared, config: plain, routes: [(app) => metricsRoutes(app, service)], port: second }),
      ]
    : [app]
}
