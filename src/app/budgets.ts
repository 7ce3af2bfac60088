import { byteBudget } from '../byte-budget.ts'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/load.ts'
import type { Budgets } from '../http/wire/room.ts'

/** Creates the memory budgets from the configuration. */
export const budgetsOf = ({ answers, bodies }: Config['budgets'], clock: Clock): Budgets => ({
  answers: byteBudget(answers, clock),
  bodies: byteBudget(bodies, clock),
})
