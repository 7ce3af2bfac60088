import t from 'tap'
import { type Reason, Refusal } from '../src/base/errors.ts'
import { type Decider, evolve } from '../src/commands/decider.ts'
import type { AnyEvent } from '../src/events/define.ts'

type Payloads = Readonly<Record<string, object>>

/**
 * given(decider)(history).when(command).then(events) or .refused(reason, message). An accepted command is repeated and
 * must then yield no events.
 */
export const given =
  <S, C extends Payloads, E extends AnyEvent>(decider: Decider<S, C, E>) =>
  (...history: readonly E[]) => {
    const state = history.reduce((state, event) => evolve(decider, state, event), decider.initial)
    return {
      state,
      when: <K extends keyof C & string>(name: K, command: C[K]) => ({
        then: (...expected: readonly E[]): void => {
          t.strictSame(decider.decide[name](state, command), expected, name)
          const after = expected.reduce((state, event) => evolve(decider, state, event), state)
          t.strictSame(
            again(() => decider.decide[name](after, command)),
            [],
            `${name} asked again`,
          )
        },
        refused: (reason: Reason, message?: string): void => {
          const refusal = refusalOf(() => decider.decide[name](state, command))
          t.equal(refusal?.reason, reason, `${name} is refused`)
          if (message !== undefined) t.equal(refusal?.message, message)
        },
      }),
    }
  }

/** Returns the refusal of the work, undefined on success; rethrows other errors. */
export const refusalOf = (work: () => unknown): Refusal | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Returns the events of a repeated command; none if it is refused. */
export const again = <E>(work: () => readonly E[]): readonly E[] => {
  let events: readonly E[] = []
  refusalOf(() => (events = work()))
  return events
}
