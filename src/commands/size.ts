import { refuse } from '../base/errors.ts'
import type { AnyEvent } from '../events/define.ts'
import { type Decided, type Decider, evolve } from './decider.ts'

/**
 * Maximum size in bytes of a flag or segment with all its parts, as UTF-8 JSON. A document of this size fits into
 * MongoDB (docs/decisions/0005).
 */
export const MOST_BYTES = 7 * 1_048_576

/** Size in bytes as UTF-8 JSON. The size of a small value is its number of UTF-16 units. */
export const bytesOf = (parts: object): number => {
  const text = JSON.stringify(parts)
  // A UTF-16 unit has at most three bytes in UTF-8. If three bytes for each unit stay below the maximum, the exact size
  // is not needed.
  return text.length * 3 <= MOST_BYTES ? text.length : Buffer.byteLength(text)
}

type Named = { readonly namespace: string; readonly key: string }

/**
 * Wraps a decider to refuse growth beyond the maximum size with 400 `invalid_argument`. An oversized aggregate may
 * still shrink. `partsOf` returns the contents of the document.
 */
export const bounded = <S, C extends Readonly<Record<string, Named>>, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  partsOf: (state: S) => object,
): Decider<S, C, E> => {
  const { category, quiet } = decider
  const insist = (before: S, state: S, { namespace, key }: Named): void => {
    const bytes = bytesOf(partsOf(state))
    if (bytes > MOST_BYTES && bytes > bytesOf(partsOf(before)))
      refuse('invalid_argument', `${category} "${namespace}/${key}" must not be larger than 7 MiB with all its parts`)
  }
  const within =
    (decide: (state: S, command: Named) => readonly E[]) =>
    (state: S, command: Named): readonly E[] => {
      const events = decide(state, command)
      if (!events.every(({ type }) => quiet?.has(type))) {
        const after = events.reduce((folded, event) => evolve(decider, folded, event), state)
        insist(state, after, command)
      }
      return events
    }
  const stepsWithin = (steps: (state: S, command: Named) => Iterable<Decided<S, E>>) =>
    function* (before: S, command: Named): Generator<Decided<S, E>> {
      let after = before
      for (const step of steps(before, command)) {
        after = step.state
        yield step
      }
      if (after !== before) insist(before, after, command)
    }
  const each = <T extends object>(table: T, wrap: (entry: never) => unknown): T =>
    Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, wrap(entry as never)])) as T
  return {
    ...decider,
    decide: each(decider.decide, within),
    ...(decider.steps && { steps: each(decider.steps, stepsWithin) }),
  }
}
