import type { FairGate } from '../../base/gate.ts'
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
