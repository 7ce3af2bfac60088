import type { FairGate } from '../../base/gate.ts'
import type { EventLog } from '../../events/log.ts'
import type { AnyProjection } from '../../projections/projection.ts'
import type { TokenIndex } from '../../projections/token-memory/token-index.ts'
import { STATUSES } from '../../projections/token-status.ts'
import type { Budgets } from '../memory/room.ts'
import type { Metrics } from './metrics.ts'

/** Metrics of each budget: size, used bytes, waiting requests and refusals (api.md §11.1). */
export const addBudgetGauges = (metrics: Pick<Metrics, 'gauge' | 'count'>, budgets: Budgets): void => {
  const add = (kind: 'gauge' | 'count', name: string, help: string, value: (budget: FairGate) => number) =>
    metrics[kind](name, help, ['budget'], () =>
      Object.entries(budgets).map(([name, budget]) => ({ labels: [name], value: value(budget) })),
    )
  const help = 'Maximum bytes of the memory budget, which all requests share.'
  add('gauge', 'budget_bytes', help, ({ total }) => total)
  add('gauge', 'budget_used_bytes', 'Bytes of the memory budget in use.', ({ held }) => held())
  const waiting = 'Requests that wait until bytes of the memory budget are free.'
  add('gauge', 'budget_waiting', waiting, (budget) => budget.waiting())
  const refused = 'Requests refused because the memory budget is used up.'
  add('count', 'budget_refused_total', refused, (budget) => budget.refused())
}

/** Maximum number of events counted, because the metrics page must not read the whole log. */
const LAG_COUNTED = 10_000

type Gauged = {
  readonly log: EventLog
  readonly projections: readonly AnyProjection[]
  /** Position up to which memory contains every event. */
  readonly position: () => bigint
  readonly census: () => ReturnType<TokenIndex['census']>
  readonly tokensHeld: Pick<TokenIndex, 'size' | 'reachBytes' | 'mostReachBytes'>
  /** Milliseconds by which the newest event is ahead of the clock. */
  readonly aheadMs: () => number
  /** Number of unreadable documents per category. */
  readonly closed: () => readonly (readonly [category: string, count: number])[]
  /** Returns the members of the cluster, according to the events that this instance has received. */
  readonly instances: () => readonly { readonly version: string; readonly reads: number }[]
}

/**
 * Gauges of api.md §11.1, read when the page is written. If the log is unreachable, only the gauge of the delay is
 * missing.
 */
export const addGauges = (
  metrics: Metrics,
  { log, projections, position, census, tokensHeld, aheadMs, closed, instances }: Gauged,
): void => {
  const ofEach = (value: number) => projections.map(({ name }) => ({ labels: [name], value }))

  const lag = async (): Promise<number> => {
    const [from, head] = [position(), await log.head()]
    let events = 0
    if (from < head) {
      for await (const page of log.readAll(from, head)) {
        events += page.length
        if (events >= LAG_COUNTED) break
      }
    }
    return events
  }

  metrics.gauge('tokens', 'Authentication records, by method and status.', ['method', 'status'], () =>
    census().flatMap(({ method, ...counts }) =>
      STATUSES.map((status) => ({ labels: [method, status], value: counts[status] })),
    ),
  )
  metrics.gauge(
    'tokens_held',
    'Live tokens in memory. All other tokens are read from the store when they are used.',
    [],
    () => tokensHeld.size(),
  )
  metrics.gauge('token_rights_bytes', 'Bytes of memory for the rights of the tokens in memory.', [], () =>
    tokensHeld.reachBytes(),
  )
  metrics.gauge(
    'token_rights_limit_bytes',
    'Limit of the bytes of memory for the rights of tokens.',
    [],
    () => tokensHeld.mostReachBytes,
  )
  metrics.gauge(
    'clock_ahead_seconds',
    'Seconds by which the time of the newest event is ahead of the clock of this instance; 0 if it is not ahead.',
    [],
    () => aheadMs() / 1000,
  )
  metrics.gauge(
    'events_unreadable',
    'Documents that this instance cannot return, because it cannot read one of their events.',
    ['category'],
    () => closed().map(([category, value]) => ({ labels: [category], value })),
  )
  metrics.gauge(
    'instances',
    'Members of the cluster, by version and by the latest format of the history that they read.',
    ['version', 'format'],
    () => {
      const alike = new Map<string, { readonly labels: readonly string[]; value: number }>()
      for (const { version, reads } of instances()) {
        const labels = [version, String(reads)]
        const cell = alike.get(labels.join()) ?? { labels, value: 0 }
        cell.value++
        alike.set(labels.join(), cell)
      }
      return [...alike.values()]
    },
  )
  metrics.gauge(
    'projection_position',
    'Position in the log up to which this instance has processed events.',
    ['name'],
    () => ofEach(Number(position())),
  )
  metrics.gauge(
    'projection_lag_events',
    `Events that this instance has not processed yet, counted up to about ${LAG_COUNTED}.`,
    ['name'],
    () => lag().then(ofEach, () => []),
  )
}
