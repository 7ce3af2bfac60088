import { inPlace, invalid } from '../base/errors.ts'
import type { AnyEvent } from '../events/define.ts'
import type { Decided } from './decider.ts'
import { bytesOf, MOST_BYTES } from './size.ts'

/** Decides one change on a state. */
export type Step<S, E> = (state: S) => readonly E[]
type Evolve<S, E> = (state: S, event: E) => S

/**
 * Decides the steps in order, each on the state after the previous one. Returns the events and the state of each step.
 */
export function* inSequence<S, E extends AnyEvent>(
  evolve: Evolve<S, E>,
  before: S,
  steps: Iterable<Step<S, E>>,
): Generator<Decided<S, E>> {
  let state = before
  for (const step of steps) {
    const events = step(state)
    state = events.reduce(evolve, state)
    yield { events, state }
  }
}

/** Combines steps into one. */
export const asOne =
  <S, E extends AnyEvent>(evolve: Evolve<S, E>, steps: Iterable<Step<S, E>>): Step<S, E> =>
  (state) =>
    eventsOf(inSequence(evolve, state, steps))

/** Wraps a step so that its refusals contain its index in the request. */
export const at =
  <S, E>(place: string, step: Step<S, E>): Step<S, E> =>
  (state) =>
    inPlace(place, () => step(state))

/** Maximum of the number of steps times the number of parts, because each step scans all parts. */
const MOST_WORK = 200_000

/** Refuses a request with too many steps for the number of parts. */
export const insistOnWork = (steps: number, parts: number): void => {
  if (steps * (parts + steps) > MOST_WORK) invalid('changes', `must not be so many where there are ${parts} parts`)
}

/** Passes the steps through. Refuses when their events are too large for one append. */
export function* insistOnSize<S, E extends AnyEvent>(steps: Iterable<Decided<S, E>>): Generator<Decided<S, E>> {
  let bytes = 0
  for (const step of steps) {
    bytes += bytesOf(step.events)
    if (bytes > MOST_BYTES) invalid('changes', 'must not bring about more than 7 MiB of events')
    yield step
  }
}

/** Events of all steps. */
export const eventsOf = <S, E>(steps: Iterable<Decided<S, E>>): readonly E[] =>
  Array.from(steps, ({ events }) => events).flat()
