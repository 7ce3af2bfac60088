import { Refusal, refuse } from '../errors.ts'
import { timeSlicer } from '../event-loop.ts'
import type { AnyEvent } from '../events/define.ts'
import type { Decider } from './decider.ts'
import type { Context } from './envelope.ts'
import type { Fold } from './stream-folds.ts'

type Payloads = Readonly<Record<string, object>>

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
  const pause = timeSlicer()
  for (const { events } of steps(state, command)) {
    all.push(...events)
    const paused = pause()
    if (paused) await paused
  }
  return all
}

/**
 * Returns the events of a command. Checks existence, then If-Match, then the rules of state: steps 12 to 14 of api.md
 * §1.3.
 */
export const decide = async <S, C extends Payloads, E extends AnyEvent, K extends keyof C>(
  decider: Decider<S, C, E>,
  { state, changes }: Fold<S>,
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

/** Refuses with 412 `revision_moved`. Reports the current revision (0 = none) and the first revision of If-Match. */
export const revisionMoved = (have: bigint, [given]: NonNullable<Context['ifMatch']>): never =>
  refuse(
    'revision_moved',
    `revision moved: have "${have}", given "${given}"`,
    have > 0n ? { headers: { etag: `"${have}"` } } : {},
  )
