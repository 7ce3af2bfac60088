import { refuse } from '../errors.ts'
import { type AnyEvent, inFormat, type Shapes, type Written } from '../events/define.ts'
import type { Appended, NewEvent, Stored } from '../events/log.ts'
import type { Actor } from '../events/meta.ts'
import { type Decider, decide, evolved } from './decider.ts'
import type { Outcome } from './earlier.ts'
import type { Context, enveloper } from './envelope.ts'
import { type Fold, stepped, type streamFolds, whole } from './stream-folds.ts'

type Payloads = Readonly<Record<string, object>>

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
 * Converts events to shapes that every running instance can read. Refuses with `release_in_progress` if an event has no
 * shape of this kind.
 */
const readable = <E extends AnyEvent>(shapes: Shapes, format: number, decided: readonly E[]): readonly Written<E>[] =>
  decided.map((event) => inFormat(shapes, format, event) ?? refuse('release_in_progress'))

/** Events in the form in which the log stores them. */
export const storedAs = (
  stream: string,
  written: readonly NewEvent[],
  { revision, positions, times }: Appended,
): readonly Stored[] =>
  written.map((event, n) => ({
    ...event,
    time: times?.[n] ?? event.time,
    stream,
    revision: revision - BigInt(written.length - 1 - n),
    position: positions[n]!,
  }))

/** Name of the stream of an aggregate. */
export const streamOf = ({ category }: { readonly category: string }, id: string): string => `${category}-${id}`

/**
 * Returns the function that decides a command on the fold of its stream and checks the quotas. Its result `written` has
 * the events to append.
 */
export const planner =
  (envelope: ReturnType<typeof enveloper>, { admit, format }: PlanOptions) =>
  async <S, C extends Payloads, E extends AnyEvent, K extends keyof C & string>(
    decider: Decider<S, C, E>,
    fold: Fold<S>,
    stream: string,
    name: K,
    command: C[K],
    context: Context,
  ) => {
    if (!decider.unread?.commands.has(name)) whole(fold)
    const current = typeof format === 'number' ? format : format()
    const decisions = readable(decider.shapes, current, await decide(decider, fold, name, command, context))
    const decided = decisions.map(({ event }) => event)
    if (decided.length === 0) return { decided, state: fold.state, written: [] }
    const state = await evolved(decider, fold.state, decided)
    const { weight } = decider
    let growth: number | undefined
    const measured = () => (growth ??= weight ? weight(state) - weight(fold.state) : 0)
    admit({ events: decided, growth: measured, actor: context.actor })
    return { decided, state, written: await envelope(stream, decisions, name, context) }
  }

/**
 * Returns a function that decides a command like the executor, but appends nothing. `stored` has the events that would
 * follow, without their positions.
 */
export const rehearser =
  (folds: ReturnType<typeof streamFolds>, planned: ReturnType<typeof planner>) =>
  async <S, C extends Payloads, E extends AnyEvent, K extends keyof C & string>(
    decider: Decider<S, C, E>,
    id: string,
    name: K,
    command: C[K],
    context: Context,
    known?: Fold<S>,
  ): Promise<Outcome<S, E>> => {
    const stream = streamOf(decider, id)
    const fold = known ?? (await folds.newest(decider, stream))
    // Without an origin nothing is encrypted, so no key is made.
    const { origin: _origin, subject: _subject, commandId: _commandId, ...unsealed } = context
    const { decided, state, written } = await planned(decider, fold, stream, name, command, unsealed)
    const before = { before: fold.state, events: decided, repeated: false }
    if (decided.length === 0) return { ...before, state, revision: fold.changes, stored: [] }
    const revision = (fold.at === 'none' ? -1n : fold.at) + BigInt(written.length)
    const { changes } = stepped(decider, fold, state, decided, revision)
    const stored = storedAs(stream, written, { revision, positions: written.map(() => 0n) })
    return { ...before, state, revision: changes, stored }
  }
