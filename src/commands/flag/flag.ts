import { reader } from '../../events/define.ts'
import { type FlagEvent, flagEvents } from '../../events/flag.ts'
import type { Decider } from '../decider.ts'
import { bounded, bytesOf } from '../size.ts'
import { type ChangeCommands, changeSteps, decideChanges } from './changes.ts'
import { decideSingle, evolveSingle, type SingleCommands } from './singles.ts'
import { absent, type Decide, type Flag, lives, type OfFlag } from './state.ts'

export type FlagCommands = SingleCommands & ChangeCommands

const decide: Decide<FlagCommands> = { ...decideSingle, ...decideChanges }

/** Returns the flag, or the state of an absent flag if the flag belongs to an earlier incarnation of its namespace. */
const met = (flag: Flag, command: OfFlag): Flag => (lives(flag, command) ? flag : absent(flag))

const inLife = (table: Decide<FlagCommands>): Decide<FlagCommands> => {
  const wrapped = Object.entries(table).map(([name, decide]) => [
    name,
    (flag: Flag, command: OfFlag) => decide(met(flag, command), command as never),
  ])
  return Object.fromEntries(wrapped) as Decide<FlagCommands>
}

/** Size of the parts that count against the quota. Names, switches, percentages and ranks do not count. */
const weight = ({ description, metadata, variants, rules, rollouts }: Flag): number => {
  const ruled = rules.map((rule) => ({
    ...rule,
    rank: 0,
    distributions: rule.distributions.map((part) => ({ ...part, rollout: 0 })),
  }))
  const rolledOut = rollouts.map((rollout) => ({ ...rollout, rank: 0, percentage: 0, value: true }))
  return bytesOf({ description, metadata, variants, ruled, rolledOut })
}

const whole: Decider<Flag, FlagCommands, FlagEvent> = {
  category: 'flag',
  shapes: flagEvents,
  read: reader(flagEvents),
  initial: absent({ generation: 0, voided: new Set() }),
  exists: lives,
  quiet: new Set(['ReservationVoided']),
  weight,
  // Voiding a reservation applies to the flag in any incarnation, because a flag of any incarnation may hold it.
  decide: { ...inLife(decide), VoidReservation: decide.VoidReservation },
  steps: { ChangeFlag: (flag, ask) => changeSteps(met(flag, ask), ask) },
  evolve: evolveSingle,
}

/** Decider of a flag with its variants, rules and rollouts, which share rules of state (api.md §7.3 to §7.8). */
export const flag = bounded(whole, ({ voided: _voided, ...parts }) => parts)
