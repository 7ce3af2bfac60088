import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import type { Clock } from '../../base/clock.ts'
import { isRefusal } from '../../base/errors.ts'
import type { Tracer } from '../../base/tracing.ts'
import { version } from '../../base/version.ts'
import { enveloper } from '../../commands/envelope.ts'
import { executor } from '../../commands/execute.ts'
import type { Config } from '../../config/load.ts'
import { namesOf } from '../../contract/identifiers.ts'
import { FORMAT } from '../../events/catalog.ts'
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

const addCoreGauges = (
  metrics: Metrics,
  intervals: ReadonlyMap<string, number>,
  { clock, tracer, stores, time, membership, memory }: FollowingParts,
  { log, follower, lease, indexLag }: ReturnType<typeof followingOf>,
): void => {
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
  const metrics = metricsOf(metricsPage(names.metricPrefix), { flagLabels: config.metrics.flag_labels })
  const { answers, bodies } = config.budgets
  const budgets = { answers: byteBudget(answers, clock), bodies: byteBudget(bodies, clock) }
  addBudgetGauges(metrics, budgets)
  const stores = instrumented(clock, tracer ? tracedStores(opened, tracer) : opened, metrics, faults)
  const { views, alone, keys, adapters } = stores
  const time = eventClock(clock, logger)
  const membership = followedMembership(logger)
  const instance = `${hostname()}-${randomUUID().slice(0, 8)}`
  const memory = memoryOf(config, logger, keys.forget)
  const parts = { config, clock, logger, fatal, tracer, stores, metrics, time, membership, instance, memory, onError }
  const following = followingOf(parts)
  const { log, follower, fresh, lease } = following
  const sealer = sealerOf(keys, erasedInLog(log, memory.erasures), lostSubjects(metrics, logger, adapters.views))
  const commands = executor(log, enveloper(sealer, instance, clock.now, alone ? time.newest : undefined), {
    clock,
    admit: quotas(config.quotas, memory.flagStore, memory.index),
    format: alone ? FORMAT : membership.format,
  })
  const intervals = new Map<string, number>()
  addCoreGauges(metrics, intervals, parts, following)
  return {
    ...parts,
    ...memory,
    ...commands,
    execute: tracer ? tracedExecute(commands.execute, tracer) : commands.execute,
    sealer,
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
