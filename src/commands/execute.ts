import type { Clock } from '../clock.ts'
import { isRefusal, refuse } from '../errors.ts'
import { type AnyEvent, FIRST_FORMAT, inFormat, type Shapes, type Written } from '../events/define.ts'
import type { Appended, EventLog, NewEvent, Stored } from '../events/log.ts'
import type { Actor } from '../events/meta.ts'
import { decide } from './decide.ts'
import { type Decider, evolved } from './decider.ts'
import { earlier, type Outcome } from './earlier.ts'
import type { Context, enveloper } from './envelope.ts'
import { type Fold, stepped, streamFolds, whole } from './stream-folds.ts'
import { streamQueue } from './stream-queue.ts'

/** Tries of a command against the other processes on its stream, and how many commands of one stream wait in this one. */
const ATTEMPTS = 12
const WAITING = 1_000

type Payloads = Readonly<Record<string, object>>

/** Five to fifty milliseconds, so that processes that met do not meet again. */
const jitter = () => 5 + Math.random() * 45

const lost = (error: unknown): undefined => {
  if (!isRefusal(error, 'write_conflict')) throw error
}

/** Refuses what the decided events would add beyond a quota, asked right before they are appended. `growth` is by how many bytes the state's weight grows. */
export type Admit = (asked: {
  readonly events: readonly AnyEvent[]
  readonly growth: () => number
  readonly actor: Actor
}) => void

type Options = {
  readonly clock: Pick<Clock, 'sleep'>
  readonly admit?: Admit
  /** The format of the history that may be written now: the first, which every instance reads, unless given. */
  readonly format?: () => number
}

/** The decided events in shapes that every instance reads. Refuses with `release_in_progress` what these cannot say. */
const readable = <E extends AnyEvent>(shapes: Shapes, format: number, decided: readonly E[]): readonly Written<E>[] =>
  decided.map((event) => inFormat(shapes, format, event) ?? refuse('release_in_progress'))

/** The decided events as the log has them now. */
const storedAs = (
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

/**
 * The only way to write: read the stream, fold it, decide, append at the revision read. Commands of one stream take
 * turns here. A race lost to another process decides again; after twelve it is refused with `write_conflict`. Who has
 * read the stream already gives its fold as `known`. The stream is then read again only if others wrote since, or if
 * the command has an id, and so may have had its effect before.
 */
export const executor = (
  log: EventLog,
  envelope: ReturnType<typeof enveloper>,
  { clock, admit = () => undefined, format = () => FIRST_FORMAT }: Options,
) => {
  const folds = streamFolds(log)
  const inTurn = streamQueue(WAITING)

  const execute = async <S, C extends Payloads, E extends AnyEvent, K extends keyof C & string>(
    decider: Decider<S, C, E>,
    id: string,
    name: K,
    command: C[K],
    context: Context,
    known?: Fold<S>,
  ): Promise<Outcome<S, E>> => {
    const stream = streamOf(decider, id)
    const { commandId } = context

    /** Undefined when another process was faster. */
    const attempt = async (handed?: Fold<S>): Promise<Outcome<S, E> | undefined> => {
      const fold =
        commandId === undefined
          ? (handed ?? (await folds.newest(decider, stream)))
          : await earlier(log, folds, decider, stream, commandId)
      if ('repeated' in fold) return fold
      if (!decider.unread?.commands.has(name)) whole(fold)
      const decisions = readable(decider.shapes, format(), await decide(decider, fold, name, command, context))
      const decided = decisions.map(({ event }) => event)
      const outcome = { before: fold.state, events: decided, repeated: false }
      if (decided.length === 0) return { ...outcome, state: fold.state, revision: fold.changes, stored: [] }
      const state = await evolved(decider, fold.state, decided)
      const { weight } = decider
      let growth: number | undefined
      const measured = () => (growth ??= weight ? weight(state) - weight(fold.state) : 0)
      admit({ events: decided, growth: measured, actor: context.actor })
      const written = await envelope(stream, decisions, name, context)
      const appended = await log.append(stream, written, fold.at).catch(lost)
      if (appended === undefined) return undefined
      const stored = storedAs(stream, written, appended)
      const after = stepped(decider, fold, state, decided, appended.revision)
      // Under a command's id another instance may have appended the same command first, with data of its own.
      if (commandId === undefined) folds.keep(stream, after)
      return { ...outcome, state: after.state, revision: after.changes, stored }
    }

    return inTurn(stream, async () => {
      const first = known && (await attempt(known))
      if (first) return first
      for (let tries = 1; tries <= ATTEMPTS; tries++) {
        if (tries > 1) await clock.sleep(jitter())
        const outcome = await attempt()
        if (outcome) return outcome
      }
      return refuse('write_conflict')
    })
  }

  return {
    execute,
    /** The whole fold of one stream as the log has it now, without reading again what is known of it. */
    foldOf: async <S, C extends Payloads, E extends AnyEvent>(
      decider: Decider<S, C, E>,
      id: string,
    ): Promise<Fold<S>> => whole(await folds.newest(decider, streamOf(decider, id))),
  }
}

const streamOf = ({ category }: { readonly category: string }, id: string): string => `${category}-${id}`

type Executor = ReturnType<typeof executor>
export type Execute = Executor['execute']
export type FoldOf = Executor['foldOf']
