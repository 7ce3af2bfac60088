import { isRefusal, Refusal, refuse } from '../errors.ts'
import type { AnyEvent } from '../events/define.ts'
import type { Log, Stored } from '../events/log.ts'
import { type Decider, evolve } from './decider.ts'
import { type Context, type enveloper, eventId } from './envelope.ts'

const ATTEMPTS = 6
/** Streams whose state is kept between commands, and how long a stream must be to be worth it. */
const FOLDS = 1_000
const LONG = 16n

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

type Fold<S> = { readonly state: S; readonly changes: bigint; readonly at: bigint | 'none' }

/** The states of long streams met lately. Behind the log they cost a conflict, never a wrong decision: the append says at which revision it was decided. */
const recentFolds = () => {
  const folds = new Map<string, Fold<unknown>>()
  return {
    get: <S>(stream: string) => folds.get(stream) as Fold<S> | undefined,
    keep: (stream: string, fold: Fold<unknown>): void => {
      if (fold.at === 'none' || fold.at < LONG) return
      folds.delete(stream)
      if (folds.size >= FOLDS) folds.delete(folds.keys().next().value!)
      folds.set(stream, fold)
    },
  }
}

/** The only way to write: read the stream, fold it, decide, append at the revision read. A lost race decides again; after six it is refused with `write_conflict`. */
export const executor = (log: Log, envelope: ReturnType<typeof enveloper>) => {
  const recent = recentFolds()
  return async <S, C extends Readonly<Record<string, object>>, E extends AnyEvent, K extends keyof C & string>(
    decider: Decider<S, C, E>,
    id: string,
    name: K,
    command: C[K],
    context: Context,
  ): Promise<Outcome<S, E>> => {
    const stream = `${decider.category}-${id}`
    const step = (fold: Fold<S>, event: E, at: bigint): Fold<S> => ({
      state: evolve(decider, fold.state, event),
      changes: decider.quiet?.has(event.type) ? fold.changes : fold.changes + 1n,
      at,
    })

    for (let attempt = 1; ; attempt++) {
      const known = context.commandId === undefined ? recent.get<S>(stream) : undefined
      let fold: Fold<S> = known ?? { state: decider.initial, changes: 0n, at: 'none' }
      let before = fold.state
      const events: E[] = []
      const done: Stored[] = []
      read: for await (const page of log.read(stream, fold.at === 'none' ? 0n : fold.at + 1n)) {
        for (const stored of page) {
          const own = context.commandId !== undefined && stored.id === eventId(context.commandId, stream, done.length)
          if (!own && done.length > 0) break read
          const event = decider.read(stored.type, stored.data)
          if (own) {
            if (done.length === 0) before = fold.state
            events.push(event)
            done.push(stored)
          }
          fold = step(fold, event, stored.revision)
        }
      }
      if (done.length > 0) return { before, state: fold.state, revision: fold.changes, events, stored: done, repeated: true }
      recent.keep(stream, fold)

      const decided = decide(decider, fold, name, command, context)
      if (decided.length === 0)
        return { before: fold.state, state: fold.state, revision: fold.changes, events, stored: [], repeated: false }
      const written = await envelope(stream, decided, decider.shapes, name, context)
      try {
        const { revision, positions, times } = await log.append(stream, written, fold.at)
        const first = revision - BigInt(written.length - 1)
        const stored = written.map((event, n) => ({
          ...event,
          time: times?.[n] ?? event.time,
          stream,
          revision: first + BigInt(n),
          position: positions[n]!,
        }))
        const after = decided.reduce((folded, event, n) => step(folded, event, first + BigInt(n)), fold)
        // Under a command's id another instance may have appended the same command first, with data of its own.
        if (context.commandId === undefined) recent.keep(stream, after)
        return { before: fold.state, state: after.state, revision: after.changes, events: decided, stored, repeated: false }
      } catch (error) {
        if (!isRefusal(error, 'write_conflict') || attempt === ATTEMPTS) throw error
      }
    }
  }
}

/** Existence, then If-Match, then the rules of state: steps 12 to 14 of api.md §1.3. */
const decide = <S, C extends Readonly<Record<string, object>>, E extends AnyEvent, K extends keyof C>(
  decider: Decider<S, C, E>,
  { state, changes }: Fold<S>,
  name: K,
  command: C[K],
  { ifMatch, needsEffect }: Context,
): readonly E[] => {
  let events: readonly E[] = []
  let refusal: Refusal | undefined
  try {
    events = decider.decide[name](state, command)
  } catch (error) {
    if (!(error instanceof Refusal) || ifMatch === undefined || error.reason === 'not_found') throw error
    refusal = error
  }
  if (ifMatch !== undefined) {
    const have = decider.exists(state, command) ? changes : 0n
    const matches = have > 0n && (ifMatch === '*' || ifMatch.includes(String(have)))
    const nothing = needsEffect && !refusal && events.length === 0
    if (!matches || nothing) revisionMoved(have, ifMatch === '*' ? '*' : (ifMatch[0] ?? ''))
  }
  if (refusal) throw refusal
  return events
}

/** Refuses with 412 `revision_moved`: the revision there is (0 = none) and the one given. */
export const revisionMoved = (have: bigint, given: string): never =>
  refuse('revision_moved', `revision moved: have "${have}", given "${given}"`, have > 0n ? { headers: { etag: `"${have}"` } } : {})

export type Execute = ReturnType<typeof executor>
