import { type Decider, evolve } from '../src/commands/decider.ts'
import type { AnyEvent } from '../src/events/define.ts'
import type { EventLog } from '../src/events/log.ts'

/** Returns the present state of a stream. */
export const stateOf = async <S, C extends Readonly<Record<string, object>>, E extends AnyEvent>(
  log: Pick<EventLog, 'read'>,
  decider: Decider<S, C, E>,
  id: string,
): Promise<S> => {
  let state = decider.initial
  for await (const page of log.read(`${decider.category}-${id}`)) {
    for (const { type, data } of page) state = evolve(decider, state, decider.read(type, data))
  }
  return state
}
