import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { isRefusal } from '../../base/errors.ts'
import type { Tracer } from '../../base/tracing.ts'
import { version } from '../../base/version.ts'
import { enveloper } from '../../commands/envelope.ts'
import { executor } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import { type Names, namesOf } from '../../contract/identifiers.ts'
import { FORMAT } from '../../events/catalog.ts'
import type { EventLog } from '../../events/log.ts'
import { sealer as sealerOf } from '../../events/personal.ts'
import { byteBudget } from '../../http/memory/room.ts'
import { addBudgetGauges, addGauges } from '../../http/metrics/gauges.ts'
import { type Metrics, metricsOf, metricsPage } from '../../http/metrics/metrics.ts'
import { addStoreGauges } from '../../http/metrics/store-gauges.ts'
import { resources } from '../../projections/all.ts'
import { erasedInLog } from '../../projections/erasures.ts'
import { eventClock } from '../stores/event-clock.ts'
import { instrumented } from '../stores/store-metrics.ts'
import type { Stores } from '../stores/stores.ts'
import type { Fatal } from '../telemetry/fatal.ts'
import { lostSubjects } from '../telemetry/limited-lines.ts'
import type { Logger } from '../telemetry/logger.ts'
import { outageLog } from '../telemetry/outage-log.ts'
import { addSpanCounts, tracedExecute, tracedStores } from '../telemetry/tracing.ts'
import { followedMembership } from './cluster-member.ts'
import { type FollowingParts, followingOf } from './following.ts'
import { memoryOf } from './memory.ts'
import { quotas } from './quotas.ts'
import { serviceSettings } from './settings.ts'

/** Creates the metrics and the memory budgets of the configuration. */
const metersOf = ({ budgets, metrics: { flag_labels } }: Config, { metricPrefix }: Names, clock: Clock) => {
  const metrics = metricsOf(metricsPage(metricPrefix), { flagLabels: flag_labels })
  const made = { answers: byteBudget(budgets.answers, clock), bodies: byteBudget(budgets.bodies, clock) }
  addBudgetGauges(metrics, made)
  return { metrics, budgets: made }
}

type Gauged = FollowingParts &
  ReturnType<typeof followingOf> & { readonly metrics: Metrics; readonly intervals: ReadonlyMap<string, number> }

/** Gauges of the log, memory, stores, jobs and spans. */
const addCoreGauges = ({
  metrics,
  clock,
  tracer,
  log,
  follower,
  lease,
  indexLag,
  intervals,
  ...parts
}: Gauged): void => {
  const { stores, time, membership, memory } = parts
  addGauges(metrics, {
    log,
    projections: resources,
    position: follower.position,
    census: () => memory.index.census(time.present().getTime()),
    tokensHeld: memory.index,
    aheadMs: time.aheadMs,
    closed: memory.closed.counts,
    instances: () => (stores.alone ? [{ version, reads: FORMAT }] : [...membership.state().members.values()]),
  })
  addStoreGauges(metrics, { ...stores, ...follower, clock, intervals, indexLag, provenFor: () => lease?.age() ?? 0 })
  addSpanCounts(metrics, tracer)
}

type Parts = Omit<FollowingParts, 'fatal' | 'onError'> & {
  readonly config: Config
  readonly metrics: Metrics
  readonly instance: string
  readonly log: EventLog
}

/** Commands over the log, and the encryption of personal data in their events. */
const commandsOf = (parts: Parts) => {
  const { config, metrics, logger, clock, tracer, stores, time, membership, instance, log } = parts
  const { index, flagStore, erasures } = parts.memory
  const { keys, alone, adapters } = stores
  const sealer = sealerOf(keys, erasedInLog(log, erasures), lostSubjects(metrics, logger, adapters.views))
  const commands = executor(log, enveloper(sealer, instance, clock.now, alone ? time.newest : undefined), {
    clock,
    admit: quotas(config.quotas, flagStore, index),
    format: alone ? FORMAT : membership.format,
  })
  return { ...commands, sealer, execute: tracer ? tracedExecute(commands.execute, tracer) : commands.execute }
}

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
