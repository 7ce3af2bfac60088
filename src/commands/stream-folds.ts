import { LRUCache } from 'lru-cache'
import { sliced } from '../base/event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { EventLog, Stored } from '../events/log.ts'
import { missingBefore, readEvent, type Unreadable, unreadable, unreadableBy } from '../events/unreadable.ts'
import { type Decider, evolve, type Payloads } from './decider.ts'
import { MOST_BYTES } from './size.ts'

/** Maximum number of cached states, their size together, and the minimum revision of a stream for caching. */
const KEPT = 1_000
const KEPT_SIZE = 64 * 1_048_576
const LONG = 16n

/**
 * State of a stream up to the revision `at`. `changes` is the resource's revision for clients. `unreadable` is the
 * first event that cannot be read; the state does not include it.
 */
export type Fold<S> = {
  readonly state: S
  readonly changes: bigint
  readonly at: bigint | 'none'
  readonly unreadable?: Unreadable
}

/** State of an empty stream. */
export const unwritten = <S>({ initial }: { readonly initial: S }): Fold<S> => ({
  state: initial,
  changes: 0n,
  at: 'none',
})

/**
 * Returns the state of a stream after `events`. `state` is the state after them, and `at` is the revision of the last
 * one.
 */
export const stepped = <S, C extends Payloads, E extends AnyEvent>(
  { quiet }: Pick<Decider<S, C, E>, 'quiet'>,
  fold: Fold<S>,
  state: S,
  events: readonly E[],
  at: bigint,
): Fold<S> => {
  const seen = events.filter(({ type }) => !quiet?.has(type)).length
  return { ...fold, state, changes: fold.changes + BigInt(seen), at }
}

/**
 * Applies one stored event and returns it. If the event cannot be read, the result has no `event`. If events before it
 * are missing in the stream, the state records this as unreadable.
 */
export const stepStored = <S, C extends Payloads, E extends AnyEvent>(
  decider: Decider<S, C, E>,
  fold: Fold<S>,
  stored: Stored,
): { readonly fold: Fold<S>; readonly event?: E } => {
  const without = (unreadable: Unreadable): Fold<S> => ({
    ...fold,
    state: decider.unread ? decider.unread.state(fold.state) : fold.state,
    unreadable: fold.unreadable ?? unreadable,
  })
  const expected = fold.at === 'none' ? 0n : fold.at + 1n
  const before = stored.revision > expected ? without(missingBefore(stored, expected)) : fold
  try {
    const event = readEvent(decider.read, stored)
    return { event, fold: stepped(decider, before, evolve(decider, before.state, event), [event], stored.revision) }
  } catch (error) {
    return { fold: { ...without(before.unreadable ?? unreadableBy(error, stored)), at: stored.revision } }
  }
}

/** Returns the fold. Refuses with `event_unreadable` if an event of the stream cannot be read. */
export const whole = <S>(fold: Fold<S>): Fold<S> => {
  if (fold.unreadable) throw unreadable(fold.unreadable)
  return fold
}

/** State after a command, for the next command of its stream; undefined if the command wrote no event. */
export const foldAfter = <S>({
  state,
  revision,
  stored,
}: {
  readonly state: S
  readonly revision: bigint
  readonly stored: readonly Pick<Stored, 'revision'>[]
}): Fold<S> | undefined => {
  const last = stored.at(-1)
  return last && { state, changes: revision, at: last.revision }
}

/**
 * Folds of streams. The states of long streams are cached (LRU), and only newer events are read. The cache never
 * changes a result.
 */
export const streamFolds = (log: Pick<EventLog, 'read'>, most = KEPT_SIZE) => {
  /** States, each with the length of its events as its size, which is at most that of the largest document. */
  const kept = new LRUCache<string, { readonly fold: Fold<unknown>; readonly size: number }>({
    max: KEPT,
    maxSize: most,
    sizeCalculation: ({ size }) => Math.min(size + 1, MOST_BYTES),
  })

  const keep = (stream: string, fold: Fold<unknown>, size: number): void => {
    if (fold.at !== 'none' && fold.at >= LONG) kept.set(stream, { fold, size })
  }

  return {
    /** Caches a state after further events, if the state before them is cached. */
    keepNext: (stream: string, fold: Fold<unknown>, events: readonly Pick<Stored, 'data'>[]): void => {
      const before = kept.get(stream)
      if (before)
        keep(
          stream,
          fold,
          events.reduce((sum, { data }) => sum + data.length, before.size),
        )
    },
    /** Reads the stream to its end and returns its state. */
    newest: async <S, C extends Payloads, E extends AnyEvent>(
      decider: Decider<S, C, E>,
      stream: string,
    ): Promise<Fold<S>> => {
      const before = kept.get(stream)
      let fold = (before?.fold as Fold<S> | undefined) ?? unwritten(decider)
      let size = before?.size ?? 0
      for await (const part of sliced(log.read(stream, fold.at === 'none' ? 0n : fold.at + 1n)))
        for (const stored of part) {
          fold = stepStored(decider, fold, stored).fold
          size += stored.data.length
        }
      keep(stream, fold, size)
      return fold
    },
  }
}
