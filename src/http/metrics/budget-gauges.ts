import type { FairGate } from '../../base/gate.ts'
import type { Budgets } from '../wire/room.ts'
import type { Metrics } from './metrics.ts'

/** Metrics of each budget: size, used bytes, waiting requests and refusals (api.md §11.1). */
export const addBudgetGauges = (metrics: Pick<Metrics, 'gauge' | 'count'>, budgets: Budgets): void => {
  const each = (value: (budget: FairGate) => number) => () =>
    Object.entries(budgets).map(([name, budget]) => ({ labels: [name], value: value(budget) }))
  const labels = ['budget']
  metrics.gauge(
    'budget_bytes',
    'Maximum bytes of the memory budget, which all requests share.',
    labels,
    each(({ total }) => total),
  )
  metrics.gauge(
    'budget_used_bytes',
    'Bytes of the memory budget in use.',
    labels,
    each(({ held }) => held()),
  )
  metrics.gauge(
    'budget_waiting',
    'Requests that wait until bytes of the memory budget are free.',
    labels,
    each(({ waiting }) => waiting()),
  )
  metrics.count(
    'budget_refused_total',
    'Requests refused because the memory budget is used up.',
    labels,
    each(({ refused }) => refused()),
  )
}
