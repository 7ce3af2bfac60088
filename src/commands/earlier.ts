import type { Clock } from '../base/clock.ts'
import { refuse } from '../base/errors.ts'
import { sliced } from '../base/event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { Decider, Payloads } from './decider.ts'
import { eventId } from './envelope.ts'
import { type Fold, stepStored, type streamFolds, unwritten, whole } from './stream-folds.ts'

/** Maximum number of passes over a stream that other processes write to at the same time. */
const TRIES = 12
/** Pause in ms until the next read of appended events that the log does not show yet. */
const SHOWN_MS = 200
const COMPARED = ['revision', 'position', 'id', 'type', 'time', 'data', 'meta'] as const

/**
 * Result of a command. `revision` is the revision of the resource, as clients see it, after the command. `stored`
 * contains the events of the command; it is empty if the command changed nothing.
 */
export type Outcome<S, E> = {
  readonly before: S
  readonly state: S
  readonly revision: bigint
  readonly events: readonly E[]
  readonly stored: readonly Stored[]
  /** True if an earlier execution with the same command id wrote these events. */
  readonly repeated: boolean
}

/** Reconstructs the outcome of a command from its first event at revision `first`. */
export const repeated = async <S, C extends Payloads, E extends AnyEvent>(
  log: Pick<EventLog, 'read'>,
  decider: Decider<S, C, E>,
  stream: string,
  commandId: string,
  first: bigint,
): Promise<Outcome<S, E>> => {
  let fold = unwritten(decider)
  let before = fold.state
  const events: E[] = []
  const stored: Stored[] = []
  read: for await (const part of sliced(log.read(stream))) {
    for (const one of part) {
      const own = one.revision >= first && one.id === eventId(commandId, stream, stored.length)
      if (one.revision > first && !own) break read
      const next = stepStored(decider, fold, one)
      if (own && next.event) {
        if (stored.length === 0) before = fold.state
        events.push(next.event)
        stored.push(one)
      }
      fold = next.fold
    }
  }
  // The first event of the command, or an event before it, cannot be read.
  if (stored.length === 0) whole(fold)
  return { before, state: fold.state, revision: fold.changes, events, stored, repeated: true }
}

/**
 * Returns the outcome of an earlier execution with this command id, otherwise the state computed from the stream. Every
 * event of the stream is checked for the id.
 */
export const earlier = async <S, C extends Payloads, E extends AnyEvent>(
  log: Pick<EventLog, 'read'>,
  folds: ReturnType<typeof streamFolds>,
  decider: Decider<S, C, E>,
  stream: string,
  commandId: string,
): Promise<Outcome<S, E> | Fold<S>> => {
  const own = eventId(commandId, stream, 0)
  let next = 0n
  for (let tries = 0; tries < TRIES; tries++) {
    for await (const page of log.read(stream, next)) {
      const found = page.find(({ id }) => id === own)
      if (found) return repeated(log, decider, stream, commandId, found.revision)
      next = page.at(-1)!.revision + 1n
    }
    const fold = await folds.newest(decider, stream)
    if ((fold.at === 'none' ? 0n : fold.at + 1n) === next) return fold
    // Another process appended between the two reads.
  }
  return refuse('write_conflict')
}

/**
 * Returns true if the log has exactly these appended events, false if it has other data under their ids. A leader that
 * was replaced may not show the events yet; then the read is repeated, and refused with `backend_unavailable` at last.
 */
export const isStored = async (
  log: Pick<EventLog, 'read'>,
  { sleep }: Pick<Clock, 'sleep'>,
  events: readonly Stored[],
): Promise<boolean> => {
  const { stream, revision } = events[0]!
  for (let tries = 1; tries <= TRIES; tries++) {
    const found: Stored[] = []
    for await (const page of log.read(stream, revision, events.length)) found.push(...page)
    if (found.length === events.length)
      return found.every((event, n) => COMPARED.every((field) => event[field] === events[n]![field]))
    await sleep(SHOWN_MS)
  }
  return refuse('backend_unavailable')
}
