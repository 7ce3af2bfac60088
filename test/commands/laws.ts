import fc from 'fast-check'
import { type Decider, evolve } from '../../src/commands/decider.ts'
import type { AnyEvent } from '../../src/events/define.ts'
import { again } from '../given.ts'
import type { Asks } from './asks.ts'

type Payloads = Readonly<Record<string, object>>
export type Ask = { readonly name: string; readonly command: object }

/** Sequences of commands. Commands that delete, and commands with many changes, are rare, so that histories grow. */
export const anyAsks = <C extends Payloads>(asks: Asks<C>, maxLength = 60): fc.Arbitrary<Ask[]> => {
  const each = Object.entries<fc.Arbitrary<object>>(asks).map(([name, command]) => ({
    weight: /^(Delete|Void|Revoke|Change)/.test(name) ? 1 : 6,
    arbitrary: command.map((command) => ({ name, command })),
  }))
  return fc.array(fc.oneof(...each), { minLength: maxLength / 2, maxLength, size: 'max' })
}

/** Events of a command in this state; none if it is refused. */
export const decided = <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  state: S,
  { name, command }: Ask,
): readonly E[] => again(() => decider.decide[name]!(state, command as C[string]))

/** Events of these commands. */
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
