import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { byteBudget } from '../base/byte-budget.ts'
import type { Clock } from '../base/clock.ts'
import { isRefusal } from '../base/errors.ts'
import type { Tracer } from '../base/tracing.ts'
import { version } from '../base/version.ts'
import { enveloper } from '../commands/envelope.ts'
import { executor } from '../commands/execute.ts'
import type { Config } from '../config/load.ts'
import { namesOf } from '../contract/identifiers.ts'
import { FORMAT } from '../events/catalog.ts'
import type { EventLog } from '../events/log.ts'
import { sealer } from '../events/personal.ts'
import { tappedLog } from '../events/tapped-log.ts'
import { addBudgetGauges } from '../http/operations/budget-gauges.ts'
import { addGauges } from '../http/operations/gauges.ts'
import { metricsOf, metricsPage } from '../http/operations/metrics.ts'
import { addStoreGauges } from '../http/operations/store-gauges.ts'
import { logMarksAndStates, projections } from '../projections/all.ts'
import { freshness } from '../projections/engine/freshness.ts'
import { type LogGuard, logGuard } from '../projections/engine/log-guard.ts'
import { runner } from '../projections/engine/runner.ts'
import { erasedInLog } from '../projections/erasures.ts'
import { resources } from '../projections/resources.ts'
import { tokens } from '../projections/tokens.ts'
import { followedMembership } from './cluster-member.ts'
import { eventClock } from './event-clock.ts'
import { indexerOf, indexLag } from './history/indexer.ts'
import { memoryOf } from './memory.ts'
import { quotas } from './quotas.ts'
import { memorySnapshot, snapshotKeeper } from './stores/memory-snapshot.ts'
import { instrumented } from './stores/store-metrics.ts'
import type { Stores } from './stores/stores.ts'
import type { Fatal } from './telemetry/fatal.ts'
import type { Logger } from './telemetry/logger.ts'
import { lostSubjects } from './telemetry/lost-subjects.ts'
import { outageLog } from './telemetry/outage-log.ts'
import { staleSpells } from './telemetry/stale-spells.ts'

/** Commands and read models over the stores. */
export type Core = ReturnType<typeof coreOf> & { readonly tracer?: Tracer | undefined }

const DIVERGED =
  'rollcall ends: the event log is not the one that this instance has read until now; the next start reports the difference'

/**
 * Checks that the log is still the one that this instance has read so far. If it is another log, the view updates stop
 * and the service ends.
 */
const guardOf = (
  clock: Clock,
  log: EventLog,
  { restarts, breaks }: Pick<Stores, 'restarts' | 'breaks'>,
  follower: () => Pick<ReturnType<typeof runner>, 'followed' | 'abandon'>,
  fatal: Fatal,
): LogGuard =>
  logGuard({
    clock,
    log,
    followed: () => follower().followed(),
    renewed: () => Object.values(restarts).reduce((sum, count) => sum + count, breaks()),
    onDiverged: ({ position, event }, found) => {
      follower().abandon()
      const actual = found === undefined ? 'no event' : `event ${found}`
      fatal(new Error(`${actual} at ${position}, expected event ${event}`), DIVERGED)
    },
  })

/** Returns the end of the log. If the log ends before the position that this instance has read, the log is checked. */
const headOf =
  (
    log: Pick<EventLog, 'head'>,
    follower: Pick<ReturnType<typeof runner>, 'followed'>,
    guard: Pick<LogGuard, 'doubt'> | undefined,
  ) =>
  async () => {
    const { position } = follower.followed()
    const head = await log.head()
    if (head < position) void guard?.doubt()
    return head
  }

/** Creates the memory budgets from the configuration. */
const budgetsOf = ({ answers, bodies }: Config['budgets'], clock: Clock) => ({
  answers: byteBudget(answers, clock),
  bodies: byteBudget(bodies, clock),
})

/** Values of the metrics of the stores and the follower. */
const storeFacts = (
  stores: Stores,
  follower: ReturnType<typeof runner>,
  lease: ReturnType<typeof freshness> | undefined,
) => ({
  queue: stores.queue,
  restarts: stores.restarts,
  writesViews: stores.writes,
  sharing: stores.sharing,
  viewLag: follower.viewLag,
  indexLag: indexLag(stores, follower),
  refusedRows: follower.refusedRows,
  writeAheadLogs: stores.writeAheadLogs ?? (() => Promise.resolve([])),
  provenFor: () => lease?.age() ?? 0,
})

/** Creates commands and read models over the stores. Nothing runs yet. */
export const coreOf = (config: Config, opened: Stores, logger: Logger, clock: Clock, fatal: Fatal) => {
  const [faults, names] = [outageLog(logger, clock), namesOf(config.identifiers)]
  const onError = (what: string) => (error: unknown) => {
    // While the log is being checked, all writes are refused. The result of the check has its own log line.
    const inDoubt = guard?.suspicious() === true && isRefusal(error, 'backend_unavailable')
    if (!faults.wasReported(error) && !inDoubt) logger.error({ err: error }, what)
  }
  const metrics = metricsOf(metricsPage(names.metricPrefix), { flagLabels: config.metrics.flag_labels })
  const budgets = budgetsOf(config.budgets, clock)
  addBudgetGauges(metrics, budgets)
  const stores = instrumented(clock, opened, metrics, faults)
  const { views, keys, alone, writes } = stores
  const time = eventClock(clock, logger)
  const membership = followedMembership(logger)
  const guard = alone ? undefined : guardOf(clock, stores.log, stores, () => follower, fatal)
  const log = tappedLog(stores.log, [time.tap, membership.tap, ...(guard ? [guard.tap] : [])])
  const instance = `${hostname()}-${randomUUID().slice(0, 8)}`
  const { index, held, lives, erasures, closed, remember, recall } = memoryOf(config, logger, keys.forget)
  const seal = sealer(keys, erasedInLog(log, erasures), lostSubjects(metrics, logger, opened.adapters.views))
  const commands = executor(log, enveloper(seal, instance, clock.now, alone ? time.newest : undefined), {
    clock,
    admit: quotas(config.quotas, held, index),
    format: alone ? FORMAT : membership.format,
  })
  const kept = memorySnapshot({
    snapshots: stores.snapshots,
    secret: stores.pepper.key,
    log,
    index,
    holders: [held, lives, erasures],
    logger,
  })
  const follower: ReturnType<typeof runner> = runner({
    clock,
    log,
    views,
    projections,
    chronicles: logMarksAndStates(stores.pepper.key),
    remember,
    recall,
    needs: ({ name }) => (name === tokens.name ? index.needs : undefined),
    // Flags come from the log, so that a writer to the view servers cannot change evaluations.
    fromLog: ({ name }) => !alone && name !== tokens.name,
    restore: kept.restore,
    take: ({ name }, event) => name === tokens.name && index.apply(event),
    writes,
    onError: onError('the read models cannot be updated'),
    onLost: (error) => fatal(error, 'rollcall ends, because the read models are lost; the next start rebuilds them'),
    ...(guard && { agrees: guard.agrees, has: guard.has }),
  })
  addGauges(metrics, {
    log,
    projections: resources,
    position: follower.position,
    census: () => index.census(time.present().getTime()),
    tokensHeld: index,
    aheadMs: time.aheadMs,
    closed: closed.counts,
    instances: () => (alone ? [{ version, reads: FORMAT }] : [...membership.state().members.values()]),
  })
  const head = headOf(log, follower, guard)
  const lease = alone
    ? undefined
    : freshness({ clock, head, seen: follower.seen, ...staleSpells(logger, follower.position) })
  const snapshots = snapshotKeeper({
    clock,
    write: kept.write,
    remembered: follower.remembered,
    // No snapshot is written while a document is unreadable, because a later version may be able to read its stream.
    mayWrite: () => writes() && (lease?.fresh() ?? true) && closed.none(),
    onError: (err) => logger.warn({ err }, 'the memory snapshot cannot be written'),
  })
  const intervals = new Map<string, number>()
  addStoreGauges(metrics, { ...storeFacts(stores, follower, lease), intervals, clock })
  const made = { clock, faults, onError, names, metrics, budgets, stores, time, log, instance, seal, membership }
  const memory = { closed, index, flagStore: held, lives, erasures }
  const indexer = indexerOf({ clock, log, stores, follower, onError })
  return { ...made, ...memory, ...commands, follower, guard, indexer, lease, snapshots, intervals }
}
