import type { Clock } from '../../base/clock.ts'
import { version } from '../../base/version.ts'
import type { Config } from '../../config/load.ts'
import type { Names } from '../../contract/identifiers.ts'
import { FORMAT } from '../../events/catalog.ts'
import { addBudgetGauges } from '../../http/metrics/budget-gauges.ts'
import { addGauges } from '../../http/metrics/gauges.ts'
import { type Metrics, metricsOf, metricsPage } from '../../http/metrics/metrics.ts'
import { addStoreGauges } from '../../http/metrics/store-gauges.ts'
import { byteBudget } from '../../http/wire/room.ts'
import { resources } from '../../projections/all.ts'
import { addSpanCounts } from '../telemetry/tracing.ts'
import type { FollowingParts, followingOf } from './following.ts'

/** Creates the metrics and the memory budgets of the configuration. */
export const metersOf = ({ budgets, metrics: { flag_labels } }: Config, { metricPrefix }: Names, clock: Clock) => {
  const metrics = metricsOf(metricsPage(metricPrefix), { flagLabels: flag_labels })
  const made = { answers: byteBudget(budgets.answers, clock), bodies: byteBudget(budgets.bodies, clock) }
  addBudgetGauges(metrics, made)
  return { metrics, budgets: made }
}

type Gauged = FollowingParts &
  ReturnType<typeof followingOf> & { readonly metrics: Metrics; readonly intervals: ReadonlyMap<string, number> }

/** Gauges of the log, memory, stores, jobs and spans. */
export const addCoreGauges = ({
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
