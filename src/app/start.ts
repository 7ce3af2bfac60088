import { type AddressInfo, isIPv6 } from 'node:net'
import { type Clock, systemClock } from '../clock.ts'
import type { Config } from '../config/load.ts'
import { isFailure } from '../failure.ts'
import { shutDown } from '../http/server.ts'
import { type Composed, compose } from './compose.ts'
import { endInTime, unlessEnding } from './lifecycle/ending.ts'
import { bound, serving } from './lifecycle/serving.ts'
import { sooner, standbyServer } from './lifecycle/standby-server.ts'
import { serverSettings } from './settings.ts'
import { damageWatch } from './stores/damage.ts'
import { openStores, type Stores } from './stores/stores.ts'
import { type Fatal, faults } from './telemetry/fatal.ts'
import { type Logger, loggerOf } from './telemetry/logger.ts'
import { hasOwnLine } from './telemetry/outage-log.ts'

export { moveStores } from './migrate/migrate.ts'
export { createTokenOffline, deleteFlagOffline, projectionStatus, rebuildProjections } from './offline/offline.ts'
export { checkLog } from './stores/check-log.ts'
export { wrongAddresses } from './stores/store-addresses.ts'

/** The part of the grace that running requests have; the rest is for the stores. */
const REQUESTS = 0.8

type Running = { readonly url: string; readonly close: () => Promise<void> }
type StartOptions = {
  readonly warnings?: readonly string[]
  /** Doors that stand open on purpose. */
  readonly meant?: readonly string[]
  /** That of the machine unless given. */
  readonly clock?: Clock
  /** Are there already, in place of those that the configuration names. */
  readonly stores?: Stores
  /** Why the service goes on though keys that its history was written with are lost. */
  readonly acceptLostKeys?: string | undefined
  /** Why the service goes on though its log is damaged. */
  readonly acceptDamagedLog?: string | undefined
  /** Asks the service to end. One that is still starting closes what it has opened, and `start` rejects with the reason. */
  readonly ending?: AbortSignal
  /** Exits the process once a fault has ended the service. Given only when the process is the service's own, so that any uncaught error in it counts as a fault. */
  readonly fatal?: () => void
  /** Ends the process when the grace is over, whatever its threads do. */
  readonly cut?: () => void
}

/** What a start is given, with its clock. */
type Starting = StartOptions & { readonly clock: Clock }

/** Opens the stores and begins. What is begun in vain is closed again. */
const begun = async (
  config: Config,
  logger: Logger,
  fatal: Fatal,
  { clock, stores, ending, ...accepting }: Starting,
): Promise<Composed> => {
  const onError = (job: string, error: unknown) => {
    if (!hasOwnLine(error)) logger.error({ err: error, job }, 'a job failed')
  }
  const { data_dir: directory } = config.storage
  const onFull = (full: boolean) =>
    full
      ? logger.error(
          { directory },
          `disk full: nothing can be written in ${directory}; make room, and writes go on by themselves`,
        )
      : logger.info({ directory }, 'the disk has room again')
  for (let tries = 1; ; tries++) {
    let composed: Composed | undefined
    const { during, ofViews, ...watching } = damageWatch(fatal, (error) => composed?.renew(error))
    const opened = stores ?? (await openStores(config, clock, { onError, onFull, ...watching, logger }, accepting))
    logger.info({ kid: opened.pepper.kid }, 'the keys are those of this log')
    try {
      composed = await compose(config, opened, logger, clock, fatal)
      await during(unlessEnding(clock, composed.begin(ending), ending))
      return composed
    } catch (error) {
      // Closed, a store sets damaged read models aside.
      await (composed ?? opened).close()
      if (!ofViews() || tries > 1) throw error
    }
  }
}

/** The address that is listened on, as a browser opens it. */
const hostInUrl = (host: string): string => {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return isIPv6(host) ? `[${host}]` : host
}

/** The service with everything it needs, listening. `close` finishes running requests first. */
const listening = async (config: Config, logger: Logger, fatal: Fatal, options: Starting): Promise<Running> => {
  const settings = serverSettings(config)
  const ports = await bound(config, settings, options.clock)
  let composed: Composed | undefined
  try {
    const room = standbyServer(ports)
    const begin = () => begun(config, logger, fatal, options)
    composed =
      config.storage.type === 'cluster'
        ? await sooner(begin, options.clock, logger, room, options.ending)
        : await begin()
    const { service, drain, close } = composed
    const apps = await serving(config, logger, service, settings, ports)
    const { protocol, host } = config.server
    const { port } = ports[0].server.address() as AddressInfo
    const url = `${protocol}://${hostInUrl(host)}:${port}`
    const open = config.ui.enabled && { open: (config.server.public_url ?? url).replace(/\/*$/, '/') }
    logger.info({ url, ...open, instance: service.instance, storage: config.storage.type }, 'rollcall is listening')
    return {
      url,
      close: async () => {
        drain()
        const patience = config.server.shutdown_grace * REQUESTS
        const cut = await Promise.all(apps.map((app) => shutDown(app, patience)))
        const requests = cut.reduce((sum, each) => sum + each, 0)
        if (requests > 0) logger.warn({ requests }, 'requests were cut that ran on when server.shutdown_grace was over')
        await close()
        logger.info('rollcall has stopped')
      },
    }
  } catch (error) {
    await composed?.close()
    for (const { server } of ports) server.close().closeAllConnections()
    throw error
  }
}

/** Starts the service: ports, stores, read models, first tokens, jobs, HTTP. Resolves when it listens; `close` finishes running requests first, and a fault ends it as `close` does. */
export const start = async (config: Config, options: StartOptions = {}): Promise<Running> => {
  const { clock = systemClock } = options
  const { logger, flushed } = loggerOf(config.log, clock)
  for (const warning of options.warnings ?? []) logger.warn(warning)
  for (const note of options.meant ?? []) logger.info(note)
  const { fatal, endWith, release } = faults(logger, clock, options.fatal)
  const { ending } = options
  endInTime(clock, ending, config.server.shutdown_grace, logger, options.cut)
  try {
    const { url, close } = await listening(config, logger, fatal, { ...options, clock })
    let closing: Promise<void> | undefined
    const ended = async () => {
      try {
        await close()
      } finally {
        release()
        await flushed()
      }
    }
    const end = () => (closing ??= ended())
    endWith(end)
    return { url, close: end }
  } catch (error) {
    if (isFailure(error)) logger.error(error.message.replaceAll('\n', ' '))
    release()
    const stopped = ending?.aborted === true && !isFailure(error)
    if (stopped) logger.info('rollcall has stopped before it was listening')
    await flushed()
    throw stopped ? ending.reason : error
  }
}
