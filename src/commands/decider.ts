import { Refusal, refuse } from '../base/errors.ts'
import { forEachSliced } from '../base/event-loop.ts'
import { type AnyEvent, type DataOf, inFormat, type Shapes } from '../events/define.ts'
import type { Actor } from '../events/meta.ts'
import type { Context, enveloper } from './envelope.ts'

/** Commands by name. */
export type Payloads = Readonly<Record<string, object>>

/** Events of one step of a command, and the state after them. */
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
  /**
   * Returns true if the target of the command exists. This distinguishes a missing resource (404) from a moved revision
   * (412).
   */
  readonly exists: (state: S, command: C[keyof C]) => boolean
  /** Events that do not change the resource for clients, so its revision stays the same. */
  readonly quiet?: ReadonlySet<E['type']>
  /** Size in bytes of the parts that can grow, for quotas. Quotas never refuse changes of other parts. */
  readonly weight?: (state: S) => number
  /**
   * Commands that are allowed if an event of the stream cannot be read, and the state after an unreadable event.
   * Absent: no command is allowed.
   */
  readonly unread?: { readonly commands: ReadonlySet<keyof C>; readonly state: (state: S) => S }
  /**
   * Decision function of each command. Returns no events if the command changes nothing; throws a Refusal if the
   * command is not allowed.
   */
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

/** Applies events to a state. Yields to the event loop if this takes long. */
const evolved = async <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  before: S,
  events: readonly E[],
): Promise<S> => {
  // A single event needs no time slices.
  if (events.length === 1) return evolve(decider, before, events[0]!)
  let state = before
  await forEachSliced(events, (event) => {
    state = evolve(decider, state, event)
  })
  return state
}

/** Decides a command. Commands with many steps yield to the event loop in between. */
const decided = async <S, C extends Payloads, E extends AnyEvent, K extends keyof C>(
  decider: Decider<S, C, E>,
  state: S,
  name: K,
  command: C[K],
): Promise<readonly E[]> => {
  const steps = decider.steps?.[name]
  if (!steps) return decider.decide[name](state, command)
  const all: E[] = []
  await forEachSliced(steps(state, command), ({ events }) => all.push(...events))
  return all
}

/**
 * Returns the events that a command produces. Checks in this order that the resource exists, that its revision matches
 * `If-Match`, and that its state allows the command (steps 12 to 14 of api.md §1.3).
 */
const decide = async <S, C extends Payloads, E extends AnyEvent, K extends keyof C>(
  decider: Decider<S, C, E>,
  { state, changes }: { readonly state: S; readonly changes: bigint },
  name: K,
  command: C[K],
  { ifMatch, needsEffect }: Context,
): Promise<readonly E[]> => {
  let events: readonly E[] = []
  let refusal: Refusal | undefined
  try {
    events = await decided(decider, state, name, command)
  } catch (error) {
    if (!(error instanceof Refusal) || ifMatch === undefined || error.reason === 'not_found') throw error
    refusal = error
  }
  if (ifMatch !== undefined) {
    const have = decider.exists(state, command) ? changes : 0n
    const matches = have > 0n && (ifMatch === '*' || ifMatch.includes(String(have)))
    const nothing = needsEffect && !refusal && events.length === 0
    if (!matches || nothing) revisionMoved(have, ifMatch)
  }
  if (refusal) throw refusal
  return events
}

/**
 * A failed If-Match is refused with 412 `revision_moved`. Reports the current revision (0 = none) and the first
 * revision of If-Match.
 */
export const revisionMoved = (have: bigint, [given]: NonNullable<Context['ifMatch']>): never =>
  refuse(
    'revision_moved',
    `revision moved: have "${have}", given "${given}"`,
    have > 0n ? { headers: { etag: `"${have}"` } } : {},
  )

/**
 * Refuses events that exceed a quota. Called right before the append. `growth` returns the growth of the state in
 * bytes.
 */
export type Admit = (asked: {
  readonly events: readonly AnyEvent[]
  readonly growth: () => number
  readonly actor: Actor
}) => void

/** `format`: the format to write, or a function that returns it. */
export type PlanOptions = { readonly admit: Admit; readonly format: number | (() => number) }

/**
 * Returns the function that decides a command on the fold of its stream and checks the quotas. Its result `written` has
 * the events to append.
 */
export const planner =
  (envelope: ReturnType<typeof enveloper>, { admit, format }: PlanOptions) =>
  async <S, C extends Payloads, E extends AnyEvent, K extends keyof C & string>(
    decider: Decider<S, C, E>,
    fold: { readonly state: S; readonly changes: bigint },
    stream: string,
    name: K,
    command: C[K],
    context: Context,
  ) => {
    const current = typeof format === 'number' ? format : format()
    // Every running instance can read these shapes.
    const decisions = (await decide(decider, fold, name, command, context)).map(
      (event) => inFormat(decider.shapes, current, event) ?? refuse('release_in_progress'),
    )
    const decided = decisions.map(({ event }) => event)
    if (decided.length === 0) return { decided, state: fold.state, written: [] }
    const state = await evolved(decider, fold.state, decided)
    const { weight } = decider
    let growth: number | undefined
    const measured = () => (growth ??= weight ? weight(state) - weight(fold.state) : 0)
    admit({ events: decided, growth: measured, actor: context.actor })
    return { decided, state, written: await envelope(stream, decisions, name, context) }
  }
