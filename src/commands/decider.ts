import { forEachSliced } from '../event-loop.ts'
import type { AnyEvent, DataOf, Shapes } from '../events/define.ts'

type Payloads = Readonly<Record<string, object>>

/** Events of a step, and the state after them. */
export type Decided<S, E> = { readonly events: readonly E[]; readonly state: S }

/**
 * Commands (C), events (E) and the minimal state (S) of an aggregate. Pure: no clock, no randomness, no I/O. The
 * commands contain ids and times.
 */
export type Decider<S, C extends Payloads, E extends AnyEvent> = {
  readonly category: string
  readonly shapes: Shapes
  readonly read: (wire: string, json: string) => E
  readonly initial: S
  /** Returns true if the target of the command exists. Distinguishes 404 from 412. */
  readonly exists: (state: S, command: C[keyof C]) => boolean
  /** Events that do not change the resource for clients, so its revision stays the same. */
  readonly quiet?: ReadonlySet<E['type']>
  /** Size in bytes of the parts that can grow, for quotas. Changes of other parts always pass. */
  readonly weight?: (state: S) => number
  /**
   * Commands that are allowed although an event of the stream cannot be read, and the state after such an event.
   * Absent: no commands.
   */
  readonly unread?: { readonly commands: ReadonlySet<keyof C>; readonly state: (state: S) => S }
  /** Returns no events if there is nothing to change; refuses if the command is not allowed. Covers all commands. */
  readonly decide: { readonly [K in keyof C]: (state: S, command: C[K]) => readonly E[] }
  /**
   * Commands with many steps. Yields the events of `decide` step by step, so that the event loop can run in between.
   */
  readonly steps?: { readonly [K in keyof C]?: (state: S, command: C[K]) => Iterable<Decided<S, E>> }
  /** Covers all events. */
  readonly evolve: { readonly [K in E['type']]: (state: S, data: DataOf<E, K>) => S }
}

/** Applies one event. */
export const evolve = <S, C extends Payloads, E extends AnyEvent>(decider: Decider<S, C, E>, state: S, event: E): S =>
  decider.evolve[event.type as E['type']](state, event.data)

/** Applies events. Yields to the event loop if that takes long. */
export const evolved = async <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  before: S,
  events: readonly E[],
): Promise<S> => {
  let state = before
  await forEachSliced(events, (event) => {
    state = evolve(decider, state, event)
    return true
  })
  return state
}
