import { compose, type Composed, version } from './compose.ts'
import type { Config } from './config.ts'
import { type Fatal, faults } from './fatal.ts'
import { aroundRoutes } from './http/around.ts'
import { authorizer } from './http/access.ts'
import { wallClock } from './http/clock.ts'
import { forwardedUntrusted } from './http/forwarded.ts'
import { observer } from './http/observe.ts'
import { mountRoutes } from './http/routes.ts'
import { httpServer, shutDown } from './http/server.ts'
import { type Log, logger } from './logger.ts'
import { serverSettings } from './settings.ts'
import { openStores, type Stores } from './stores.ts'
import { waitingRoom } from './waiting-room.ts'

export { moveStores } from './moving.ts'
export { createTokenOffline, projectionStatus, rebuildProjections } from './offline.ts'

const PATIENCE_MS = 10_000
const RETRY_MS = 1_000
const FORWARDED =
  'forwarded headers come from a peer that server.trust_proxy does not name, so they have no effect and everybody behind it counts as one client'

export type Running = { readonly url: string; readonly close: () => Promise<void> }
export type StartOptions = {
  readonly warnings?: readonly string[]
  /** Doors that stand open on purpose. */
  readonly meant?: readonly string[]
  readonly now?: () => Date
  /** Are there already, in place of those that the configuration names. */
  readonly stores?: Stores
  /** Ends the process, once a fault has ended the service. Whoever gives it says that the process is the service's own: what nobody catches in it is a fault. */
  readonly fatal?: () => void
}

/** Opens the stores and begins. What is begun in vain is closed again. */
const begun = async (config: Config, log_: Log, fatal: Fatal, { now = wallClock(), stores }: StartOptions): Promise<Composed> => {
  const onError = (job: string, error: unknown) => log_.error({ err: error, job }, 'a job failed')
  const opened = stores ?? (await openStores(config, { onError, fatal }))
  let composed: Composed | undefined
  try {
    composed = await compose(config, opened, log_, now)
    await composed.begin()
    return composed
  } catch (error) {
    await (composed ?? opened).close()
    throw error
  }
}

/** Waits for servers that are not up yet, in whatever order they come; meanwhile the waiting room answers. */
const sooner = async (config: Config, log_: Log, fatal: Fatal, options: StartOptions): Promise<Composed> => {
  let room: Awaited<ReturnType<typeof waitingRoom>> | undefined
  try {
    for (;;) {
      try {
        return await begun(config, log_, fatal, options)
      } catch (error) {
        log_.warn({ err: error }, 'not ready to start; trying again')
        room ??= await waitingRoom(config.server)
        room.missing(error)
        if (await room.leave(RETRY_MS)) throw error
      }
    }
  } finally {
    await room?.close()
  }
}

/** The service with everything it needs, listening. `close` finishes running requests first. */
const listening = async (config: Config, log_: Log, fatal: Fatal, options: StartOptions): Promise<Running> => {
  const { service, drain, close } = await (config.storage.type === 'cluster' ? sooner : begun)(config, log_, fatal, options)
  try {
    const level = config.authentication.open_on_purpose.includes('forwarded') ? 'info' : 'warn'
    const app = await httpServer({
      config: serverSettings(config),
      logger: log_,
      authorize: authorizer(service),
      afterParse: aroundRoutes(service),
      routes: [(app) => mountRoutes(app, service)],
      answered: observer(
        service,
        log_,
        forwardedUntrusted(config.server.trust_proxy, () => log_[level](FORWARDED)),
      ),
      version,
      tokenCookie: service.names.tokenCookie,
    })
    const { protocol, host, http_port, https_port } = config.server
    await app.listen({ host, port: protocol === 'https' ? https_port : http_port })
    const address = app.server.address()
    const port = typeof address === 'object' && address ? address.port : http_port
    const url = `${protocol}://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`
    log_.info({ url, instance: service.instance, storage: config.storage.type }, 'rollcall is listening')
    return {
      url,
      close: async () => {
        drain()
        await shutDown(app, PATIENCE_MS)
        await close()
        log_.info('rollcall has stopped')
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Starts the service: stores, read models, first tokens, jobs, HTTP. Resolves when it listens; `close` finishes running requests first, and a fault ends it as `close` does. */
export const start = async (config: Config, options: StartOptions = {}): Promise<Running> => {
  const log_ = logger(config.log)
  for (const warning of options.warnings ?? []) log_.warn(warning)
  for (const note of options.meant ?? []) log_.info(note)
  const { fatal, endWith, release } = faults(log_, options.fatal)
  try {
    const { url, close } = await listening(config, log_, fatal, options)
    let closing: Promise<void> | undefined
    const end = () => (closing ??= close().finally(release))
    endWith(end)
    return { url, close: end }
  } catch (error) {
    release()
    throw error
  }
}
