import { type AddressInfo, isIPv6 } from 'node:net'
import { type Clock, systemClock, type Timer } from '../base/clock.ts'
import { isFailure } from '../base/failure.ts'
import type { Tracer } from '../base/tracing.ts'
import type { Config } from '../config/load.ts'
import { shutDown } from '../http/server.ts'
import { type Composed, compose } from './compose.ts'
import { serverSettings } from './core/settings.ts'
import { causeOf, type StopCause } from './lifecycle/presence.ts'
import { bound, serving } from './lifecycle/serving.ts'
import { sooner, standbyServer } from './lifecycle/standby-server.ts'
import { damageWatch } from './stores/damage.ts'
import type { InitialState } from './stores/store-listeners.ts'
import { openStores, type Stores } from './stores/stores.ts'
import { type Fatal, faults } from './telemetry/fatal.ts'
import { logForeignLines } from './telemetry/limited-lines.ts'
import { type Logger, loggerOf } from './telemetry/logger.ts'
import { hasOwnLine } from './telemetry/outage-log.ts'
import { tracerOf } from './telemetry/tracing.ts'

/** Time in ms for running work to stop by itself after the abort, before its stores are closed. */
const STOP_MS = 4_000

/**
 * Resolves with the result of the work. Rejects with the reason of the signal if the work does not stop soon after the
 * abort.
 */
export const unlessEnding = async <T>(
  { after }: Pick<Clock, 'after'>,
  work: Promise<T>,
  ending: AbortSignal | undefined,
): Promise<T> => {
  if (!ending) return work
  let timer: Timer | undefined
  let stop = (): void => undefined
  const left = new Promise<never>((_, reject) => {
    stop = () => void (timer = after(STOP_MS, () => reject(ending.reason as Error)))
  })
  if (ending.aborted) stop()
  else ending.addEventListener('abort', stop)
  try {
    return await Promise.race([work, left])
  } finally {
    ending.removeEventListener('abort', stop)
    timer?.cancel()
  }
}

/** Ends the process `grace` milliseconds after the abort, even if the shutdown is incomplete. */
export const endInTime = (
  { after }: Pick<Clock, 'after'>,
  ending: AbortSignal | undefined,
  grace: number,
  logger: Pick<Logger, 'warn'>,
  cut: (() => void) | undefined,
): void => {
  const late = () => {
    const left = process.getActiveResourcesInfo().length
    logger.warn(
      { left },
      'the shutdown takes longer than server.shutdown_grace, so running requests are aborted; no acknowledged write is lost',
    )
    cut?.()
  }
  ending?.addEventListener('abort', () => void after(grace, late).unref(), { once: true })
}

/** Fraction of the grace period for running requests. The rest of the grace period is for closing the stores. */
const REQUESTS = 0.8

type Running = { readonly url: string; readonly close: () => Promise<void> }
type Listening = { readonly url: string; readonly close: (cause: StopCause) => Promise<void> }
type StartOptions = Pick<InitialState, 'acceptLostKeys' | 'acceptDamagedLog'> & {
  readonly warnings?: readonly string[]
  /** Log lines about access that is intentionally open. */
  readonly meant?: readonly string[]
  /** If no clock is given, the clock of the machine is used. */
  readonly clock?: Clock
  /** Open stores, used instead of the configured ones. */
  readonly stores?: Stores
  /** Aborts the start: opened resources are closed, and `start` rejects with the reason. */
  readonly ending?: AbortSignal
  /**
   * Called to end the process after a fault. Set only if the process belongs to the service, so that any uncaught error
   * in it is a fault.
   */
  readonly fatal?: () => void
  /** Receives the function that reopens `log.file`. Not called if the log is standard output. */
  readonly onLogFile?: (reopen: () => void) => void
  /** Ends the process after the grace period, regardless of its threads. */
  readonly cut?: () => void
}

type Starting = StartOptions & { readonly clock: Clock; readonly tracer?: Tracer | undefined }

/** Opens the stores and starts the service. If the start fails, the stores are closed. */
const begun = async (
  config: Config,
  logger: Logger,
  fatal: Fatal,
  { clock, stores, ending, tracer, ...accepting }: Starting,
): Promise<Composed> => {
  const onError = (job: string, error: unknown) => {
    if (!hasOwnLine(error)) logger.error({ err: error, job }, 'a job failed')
  }
  const { data_dir: directory } = config.storage
  const onFull = (full: boolean) =>
    full
      ? logger.error(
          { directory },
          `disk full: nothing can be written in ${directory}; free some space, and writes resume automatically`,
        )
      : logger.info({ directory }, 'the disk has space again')
  for (let tries = 1; ; tries++) {
    let composed: Composed | undefined
    const { during, ofViews, ...watching } = damageWatch(fatal, (error) => composed?.renew(error))
    const opened = stores ?? (await openStores(config, clock, { onError, onFull, ...watching, logger }, accepting))
    logger.info({ kid: opened.pepper.kid }, 'the encryption keys belong to this event log')
    try {
      composed = await compose(config, opened, logger, clock, fatal, tracer)
      await during(unlessEnding(clock, composed.begin(ending), ending))
      return composed
    } catch (error) {
      // When a store is closed, damaged read models are set aside.
      await (composed?.close(causeOf(ending)) ?? opened.close())
      if (!ofViews() || tries > 1) throw error
    }
  }
}

const hostInUrl = (host: string): string => {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return isIPv6(host) ? `[${host}]` : host
}

/** Starts the service and its listener. `close` waits for running requests first. */
const listening = async (config: Config, logger: Logger, fatal: Fatal, options: Starting): Promise<Listening> => {
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
      close: async (cause) => {
        drain()
        const patience = config.server.shutdown_grace * REQUESTS
        const cut = await Promise.all(apps.map((app) => shutDown(app, patience)))
        const requests = cut.reduce((sum, each) => sum + each, 0)
        if (requests > 0)
          logger.warn({ requests }, 'some requests take longer than server.shutdown_grace and are cut off')
        await close(cause)
        logger.info('rollcall has stopped')
      },
    }
  } catch (error) {
    await composed?.close(causeOf(options.ending))
    for (const { server } of ports) server.close().closeAllConnections()
    throw error
  }
}

/**
 * Starts the service: ports, stores, read models, first tokens, jobs, HTTP. The promise resolves when the service
 * listens. `close` finishes running requests first; a fault also ends the service with `close`.
 */
export const start = async (config: Config, options: StartOptions = {}): Promise<Running> => {
  const { clock = systemClock } = options
  const { logger, flushed, reopen } = loggerOf(config.log, clock)
  if (config.log.file !== undefined) options.onLogFile?.(reopen)
  const unlogged = options.fatal ? logForeignLines(logger, clock) : () => undefined
  for (const warning of options.warnings ?? []) logger.warn(warning)
  for (const note of options.meant ?? []) logger.info(note)
  const { fatal, endWith, release } = faults(logger, clock, options.fatal)
  const { ending } = options
  let tracer: Tracer | undefined
  endInTime(clock, ending, config.server.shutdown_grace, logger, options.cut)
  const ended = async () => {
    await tracer?.close()
    release()
    unlogged()
    await flushed()
  }
  try {
    if (config.tracing.otlp_endpoint !== undefined) tracer = await tracerOf(config, logger, clock)
    const { url, close } = await listening(config, logger, fatal, { ...options, clock, tracer })
    let closing: Promise<void> | undefined
    const closed = async (cause: StopCause) => {
      try {
        await close(cause)
      } finally {
        await ended()
      }
    }
    const end = (cause: StopCause) => (closing ??= closed(cause))
    endWith(() => end('error'))
    return { url, close: () => end('signal') }
  } catch (error) {
    if (isFailure(error)) logger.error(error.message.replaceAll('\n', ' '))
    const stopped = ending?.aborted === true && !isFailure(error)
    if (stopped) logger.info('rollcall was stopped before it accepted requests')
    await ended()
    throw stopped ? ending.reason : error
  }
}
