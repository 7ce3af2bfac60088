import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { isRefusal } from '../../base/errors.ts'
import type { Tracer } from '../../base/tracing.ts'
import type { Config } from '../../config/load.ts'
import { namesOf } from '../../contract/identifiers.ts'
import { eventClock } from '../stores/event-clock.ts'
import { instrumented } from '../stores/store-metrics.ts'
import type { Stores } from '../stores/stores.ts'
import type { Fatal } from '../telemetry/fatal.ts'
import type { Logger } from '../telemetry/logger.ts'
import { outageLog } from '../telemetry/outage-log.ts'
import { tracedStores } from '../telemetry/traced-stores.ts'
import { followedMembership } from './cluster-member.ts'
import { commandsOf } from './commands.ts'
import { followingOf } from './following.ts'
import { addCoreGauges, metersOf } from './gauges.ts'
import { memoryOf } from './memory.ts'
import { serviceSettings } from './settings.ts'

/** Parts that every feature uses: configuration, stores, the log, commands and memory. */
export type Core = ReturnType<typeof coreOf>

/** Creates commands and read models over the stores. Nothing runs yet. */
export const coreOf = (
  config: Config,
  opened: Stores,
  logger: Logger,
  clock: Clock,
  fatal: Fatal,
  tracer: Tracer | undefined,
) => {
  const [faults, names] = [outageLog(logger, clock), namesOf(config.identifiers)]
  const onError = (what: string) => (error: unknown) => {
    // While the log is being checked, all writes are refused. The result of the check has its own log line.
    const inDoubt = following.guard?.suspicious() === true && isRefusal(error, 'backend_unavailable')
    if (!faults.wasReported(error) && !inDoubt) logger.error({ err: error }, what)
  }
  const { metrics, budgets } = metersOf(config, names, clock)
  const stores = instrumented(clock, tracer ? tracedStores(opened, tracer) : opened, metrics, faults)
  const { views, alone } = stores
  const time = eventClock(clock, logger)
  const membership = followedMembership(logger)
  const instance = `${hostname()}-${randomUUID().slice(0, 8)}`
  const memory = memoryOf(config, logger, stores.keys.forget)
  const parts = { config, clock, logger, fatal, tracer, stores, metrics, time, membership, instance, memory, onError }
  const following = followingOf(parts)
  const { log, follower, fresh, lease } = following
  const commands = commandsOf({ ...parts, log })
  const intervals = new Map<string, number>()
  addCoreGauges({ ...parts, ...following, intervals })
  return {
    ...parts,
    ...memory,
    ...commands,
    faults,
    names,
    settings: serviceSettings(config),
    budgets,
    views,
    alone,
    now: time.present,
    log,
    lease,
    fresh,
    follower,
    applied: follower.applied,
    seen: follower.seen,
    viewsReached: follower.viewsReached,
    intervals,
    following,
  }
}
