import { forEachSliced } from '../event-loop.ts'
import type { AnyEvent, DataOf, Shapes } from '../events/define.ts'

type Payloads = Readonly<Record<string, object>>

/** The events of a step, and the state that they leave. */
export type Decided<S, E> = { readonly events: readonly E[]; readonly state: S }

/**
 * What may be asked (C), what may have happened (E), and the least state (S) that decides. No clock, no randomness, no
 * I/O: ids and times come with the command.
 */
export type Decider<S, C extends Payloads, E extends AnyEvent> = {
  readonly category: string
  readonly shapes: Shapes
  readonly read: (wire: string, json: string) => E
  readonly initial: S
  /** Whether the thing that the command means exists in this state: decides between 404 and 412. */
  readonly exists: (state: S, command: C[keyof C]) => boolean
  /** Events that leave the resource as a client sees it unchanged, so its revision does not move. */
  readonly quiet?: ReadonlySet<E['type']>
  /** Bytes of what a command can add to, as a quota counts them; changes to the rest are never too large. */
  readonly weight?: (state: S) => number
  /** The commands that may be decided although an event of the stream cannot be read, and the state that such an event leaves. Without it there are none. */
  readonly unread?: { readonly commands: ReadonlySet<keyof C>; readonly state: (state: S) => S }
  /** "Already so" gives no event; "may not" refuses. Total over the commands. */
  readonly decide: { readonly [K in keyof C]: (state: S, command: C[K]) => readonly E[] }
  /** Commands of many steps, which `decide` would decide in one piece: the same events step by step, so that the event loop is free in between. */
  readonly steps?: { readonly [K in keyof C]?: (state: S, command: C[K]) => Iterable<Decided<S, E>> }
  /** Total over the events. */
  readonly evolve: { readonly [K in E['type']]: (state: S, data: DataOf<E, K>) => S }
}

/** The state after one more event. */
export const evolve = <S, C extends Payloads, E extends AnyEvent>(decider: Decider<S, C, E>, state: S, event: E): S =>
  decider.evolve[event.type as E['type']](state, event.data)

/** The state after more events; others are served in between where that takes long. */
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
