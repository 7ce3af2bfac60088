import fc from 'fast-check'
import { type Decider, evolve } from '../../src/commands/decider.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import { again } from '../given.ts'
import type { Asks } from './asks.ts'

type Payloads = Readonly<Record<string, object>>
export type Ask = { readonly name: string; readonly command: object }

/** Any sequence of the commands of a table, those that end things seldom, so that histories grow; those of many seldom too, for they bring what the others bring. */
export const anyAsks = <C extends Payloads>(asks: Asks<C>, maxLength = 60): fc.Arbitrary<Ask[]> => {
  const each = Object.entries<fc.Arbitrary<object>>(asks).map(([name, command]) => ({
    weight: /^(Delete|Void|Revoke|Change)/.test(name) ? 1 : 6,
    arbitrary: command.map((command) => ({ name, command })),
  }))
  return fc.array(fc.oneof(...each), { minLength: maxLength / 2, maxLength, size: 'max' })
}

/** The command's events in this state; none when it is refused. */
export const decided = <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  state: S,
  { name, command }: Ask,
): readonly E[] => again(() => decider.decide[name]!(state, command as C[string]))

/** What has happened after these commands. */
export const history = <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  asks: readonly Ask[],
): E[] => {
  let state = decider.initial
  const events: E[] = []
  for (const ask of asks) {
    for (const event of decided(decider, state, ask)) {
      events.push(event)
      state = evolve(decider, state, event)
    }
  }
  return events
}
