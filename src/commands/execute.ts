import type { Clock } from '../base/clock.ts'
import { keyedQueue } from '../base/concurrency.ts'
import { isRefusal, type Refusal, refuse } from '../base/errors.ts'
import { type AnyEvent, FIRST_FORMAT } from '../events/define.ts'
import type { Appended, EventLog, NewEvent, Stored } from '../events/log.ts'
import { type Decider, type Payloads, type PlanOptions, planner } from './decider.ts'
import { earlier, isStored, type Outcome, repeated } from './earlier.ts'
import type { Context, enveloper } from './envelope.ts'
import { type Fold, stepped, streamFolds, whole } from './stream-folds.ts'

/** Maximum attempts of a command in races with other processes, and maximum queue length per stream. */
const ATTEMPTS = 12
const WAITING = 1_000

/** Random delay of 5 to 50 ms, so that racing processes do not collide again. */
const jitter = () => 5 + Math.random() * 45

const lost = (error: unknown): undefined => {
  if (!isRefusal(error, 'write_conflict')) throw error
}

type Queue = { length: number; broken?: Refusal }

/**
 * Runs tasks of one stream one at a time, in order of arrival. Refuses with `write_conflict` if `most` tasks wait. If a
 * task fails with `backend_unavailable`, all tasks queued behind it fail with the same error.
 */
export const streamQueue = (most: number) => {
  const serialize = keyedQueue()
  const queues = new Map<string, Queue>()

  return async <T>(stream: string, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(stream) ?? { length: 0 }
    if (queue.length > most) return refuse('write_conflict')
    queues.set(stream, queue)
    queue.length++
    const leave = () => {
      if (queues.get(stream) === queue) queues.delete(stream)
    }
    return serialize(stream, async () => {
      try {
        if (queue.broken) throw queue.broken
        return await work()
      } catch (error) {
        if (isRefusal(error, 'backend_unavailable')) {
          queue.broken = error
          leave()
        }
        throw error
      } finally {
        if (--queue.length === 0) leave()
      }
    })
  }
}

/** Name of the stream of an aggregate. */
const streamOf = ({ category }: { readonly category: string }, id: string): string => `${category}-${id}`

/** Events in the form in which the log stores them. */
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
 * Returns a function that decides a command like the executor, but appends nothing. `stored` has the events that would
 * follow, without their positions.
 */
const rehearser =
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
    if (!decider.unread?.commands.has(name)) whole(fold)
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

/**
 * Executes commands. The executor is the only writer of events: it reads the stream, computes the state, decides, and
 * appends at the revision that it read (optimistic concurrency). Commands of one stream run one at a time. If a
 * different process has written to the stream in between, the command is decided again, at most 12 times, and then
 * refused with `write_conflict`. A caller that already has the state passes it as `known`. With `known`, the stream is
 * read only after a conflict, or if the command has an id, because a command with an id may have been executed before.
 * The outcome of a command with an id is that of the events in the log, also if an earlier attempt appended them late.
 */
export const executor = (
  log: EventLog,
  envelope: ReturnType<typeof enveloper>,
  {
    clock,
    admit = () => undefined,
    format = FIRST_FORMAT,
  }: Partial<PlanOptions> & { readonly clock: Pick<Clock, 'sleep'> },
) => {
  const folds = streamFolds(log)
  const inTurn = streamQueue(WAITING)
  const planned = planner(envelope, { admit, format })

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

    /** Returns undefined if a different process has written to the stream in between. */
    const attempt = async (handed?: Fold<S>): Promise<Outcome<S, E> | undefined> => {
      const fold =
        commandId === undefined
          ? (handed ?? (await folds.newest(decider, stream)))
          : await earlier(log, folds, decider, stream, commandId)
      if ('repeated' in fold) return fold
      if (!decider.unread?.commands.has(name)) whole(fold)
      const { decided, state, written } = await planned(decider, fold, stream, name, command, context)
      const outcome = { before: fold.state, events: decided, repeated: false }
      if (decided.length === 0) return { ...outcome, state, revision: fold.changes, stored: [] }
      const appended = await log.append(stream, written, fold.at).catch(lost)
      if (appended === undefined) return undefined
      const stored = storedAs(stream, written, appended)
      // An earlier attempt of the command may have appended events with the same ids and different data.
      if (commandId !== undefined && !(await isStored(log, clock, stored)))
        return repeated(log, decider, stream, commandId, stored[0]!.revision)
      const after = stepped(decider, fold, state, decided, appended.revision)
      folds.keepNext(stream, after, stored)
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
    rehearse: rehearser(folds, planned),
    /** Reads the stream to its end and returns the state, with the cache. Refuses with `event_unreadable`. */
    foldOf: async <S, C extends Payloads, E extends AnyEvent>(
      decider: Decider<S, C, E>,
      id: string,
    ): Promise<Fold<S>> => whole(await folds.newest(decider, streamOf(decider, id))),
  }
}

type Executor = ReturnType<typeof executor>
export type Execute = Executor['execute']
export type FoldOf = Executor['foldOf']
