import type { FlagEvent } from '../../events/flag.ts'
import type { Decider } from '../decider.ts'
import { decideOwn, evolveOwn, type OwnCommands } from './own.ts'
import { decideRollouts, evolveRollouts, type RolloutCommands } from './rollouts.ts'
import { decideRules, evolveRules, type RuleCommands } from './rules.ts'
import type { Decide, Flag } from './state.ts'
import { decideVariants, evolveVariants, type VariantCommands } from './variants.ts'

/** Commands with a single change. */
export type SingleCommands = OwnCommands & VariantCommands & RuleCommands & RolloutCommands

export const decideSingle: Decide<SingleCommands> = {
  ...decideOwn,
  ...decideVariants,
  ...decideRules,
  ...decideRollouts,
}

export const evolveSingle: Decider<Flag, SingleCommands, FlagEvent>['evolve'] = {
  ...evolveOwn,
  ...evolveVariants,
  ...evolveRules,
  ...evolveRollouts,
}

/** Applies one event. */
export const evolveFlag = (flag: Flag, { type, data }: FlagEvent): Flag => evolveSingle[type](flag, data as never)
