import { refuse } from '../errors.ts'
import { timeSlicer } from '../event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { EventLog, Stored } from '../events/log.ts'
import type { Decider } from './decider.ts'
import { eventId } from './envelope.ts'
import { type Fold, stepStored, type streamFolds, unwritten, whole } from './stream-folds.ts'

/** How often a stream is looked through that others write to meanwhile. */
const TRIES = 12

type Payloads = Readonly<Record<string, object>>

/** `revision` is the resource's revision as clients see it, after the command. `stored` are the events of this command, none when it was already so. */
export type Outcome<S, E> = {
  readonly before: S
  readonly state: S
  readonly revision: bigint
  readonly events: readonly E[]
  readonly stored: readonly Stored[]
  /** True when the command had had its effect before and this is the same outcome again. */
  readonly repeated: boolean
}

/** What a command did whose first event stands in its stream at this revision. */
const repeated = async <S, C extends Payloads, E extends AnyEvent>(
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
  const pause = timeSlicer()
  read: for await (const page of log.read(stream)) {
    for (const one of page) {
      const own = one.revision >= first && one.id === eventId(commandId, stream, stored.length)
      if (one.revision > first && !own) break read
      const next = stepStored(decider, fold, one)
      if (own && next.event) {
        if (stored.length === 0) before = fold.state
        events.push(next.event)
        stored.push(one)
      }
      fold = next.fold
      const paused = pause()
      if (paused) await paused
    }
  }
  // That event, or one before it, cannot be read.
  if (stored.length === 0) whole(fold)
  return { before, state: fold.state, revision: fold.changes, events, stored, repeated: true }
}

/** What a named command did when it was sent before, or else the fold of its stream now, in which every event was looked at. */
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
    // Others wrote between the two.
  }
  return refuse('write_conflict')
}
