import { inPlace, Refusal, refuse } from '../base/errors.ts'
import { forEachSliced } from '../base/event-loop.ts'
import type { Rollout, Rule } from '../events/flag.ts'
import type { Stored } from '../events/log.ts'
import type { Context } from './envelope.ts'
import type { Execute, FoldOf } from './execute.ts'
import {
  type ChangeCommands,
  decidedInOrder,
  type FlagChange,
  type FlagCommands,
  flag,
  segmentsNamed,
} from './flag/flag.ts'
import { noRolloutParent, segmentsOf } from './flag/rollouts.ts'
import { noRuleParent } from './flag/rules.ts'
import { type Flag, holds, lives, type OfFlag, usesOf } from './flag/state.ts'
import { namespace, RESERVATION_LIFE_MS, type Reservation } from './namespace.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'
import { type SegmentCommands, segment } from './segment.ts'
import { aside, idOf, type Means, releaser, segmentUser } from './segment-reservations.ts'

type ChangeRequest = Omit<ChangeCommands['ChangeFlag'], 'reservations'>

/** Commands that can make a rule or rollout use segments. */
type User = 'AddRule' | 'UpdateRule' | 'AddRollout' | 'UpdateRollout'
const isUser = (change: FlagChange): change is Extract<FlagChange, { readonly op: User }> =>
  /^(Add|Update)(Rule|Rollout)$/.test(change.op)

/** Segments that the rule or rollout does not use yet; empty if a rule or rollout to update is missing. */
const newTo =
  (user: User, id: string, segments: readonly string[]) =>
  ({ rules, rollouts }: Flag): readonly string[] => {
    const parts: readonly (Rule | Rollout)[] = user.endsWith('Rule') ? rules : rollouts
    const part = parts.find((part) => part.id === id)
    const held = new Set(part && 'segments' in part ? part.segments.map((use) => use.segment) : [])
    return part || user.startsWith('Add') ? [...new Set(segments)].filter((segment) => !held.has(segment)) : []
  }

/**
 * Segments that need a reservation for these changes, in order of first use, up to the first change that is refused. To
 * find them, the function decides the changes with temporary reservations. It yields to the event loop if this takes
 * long.
 */
export const segmentsNeeded = async (flag: Flag, ask: ChangeRequest): Promise<readonly string[]> => {
  const named = new Set(ask.changes.flatMap(segmentsNamed))
  if (named.size === 0 || !lives(flag, ask)) return []
  const trial = Array.from(named, (segment) => ({ segment, reservation: `trial ${segment}` }))
  const reservations = new Set(trial.map(({ reservation }) => reservation))
  const needed = new Set<string>()
  const steps = decidedInOrder(flag, { ...ask, reservations: trial })
  let state = flag
  let decided = 0
  try {
    await forEachSliced(steps, (step) => {
      for (const use of usesOf(step.state)) if (reservations.has(use.reservation)) needed.add(use.segment)
      state = step.state
      decided++
    })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const change = ask.changes[decided]!
    for (const segment of isUser(change) ? newTo(change.op, change.id, segmentsNamed(change))(state) : [])
      needed.add(segment)
  }
  return [...needed]
}

/** Refuses the first change that names a missing segment, with the message of its own route. */
const noSegmentOf =
  ({ changes }: ChangeRequest) =>
  (of: OfFlag, segment: string): never => {
    const n = changes.findIndex((change) => segmentsNamed(change).includes(segment))
    const missing = changes[n]?.op.endsWith('Rule') ? noRuleParent : noRolloutParent
    return inPlace(`changes[${n}]`, () => missing(of, segment))
  }

/**
 * Finds reservations that no flag uses, and voids them. The check stops at the first valid reservation, because then
 * the deletion is refused anyway.
 */
const staleFinder =
  ({ execute, now }: Means) =>
  async (of: Omit<OfFlag, 'key'>, given: PersistentMap<Reservation>, context: Context) => {
    const [found, stored]: [Set<string>, Stored[]] = [new Set(), []]
    const before = new Date(now().getTime() - RESERVATION_LIFE_MS).toISOString()
    for (const [reservation, { flag: key, reservedAt }] of given) {
      if (reservedAt >= before) break
      const outcome = await execute(
        flag,
        idOf({ ...of, key }),
        'VoidReservation',
        { ...of, key, reservation },
        aside(context),
      )
      stored.push(...outcome.stored)
      if (holds(outcome.state, reservation)) break
      found.add(reservation)
    }
    return { found, stored }
  }

const noNamespace = (key: string) => refuse('not_found', `namespace "${key}" not found`)

/** Deletions of segments and namespaces. Reservations that no flag uses do not prevent them. */
const deletions = (means: Means) => {
  const { execute, foldOf } = means
  const stale = staleFinder(means)
  return {
    deleteSegment: async (ask: Omit<SegmentCommands['DeleteSegment'], 'stale'>, context: Context) => {
      const fold = await foldOf(segment, idOf(ask))
      const { incarnation, reservations: given } = fold.state
      const { found, stored } = await stale(
        ask,
        incarnation === ask.incarnation ? given : emptyMap<Reservation>(),
        context,
      )
      const outcome = await execute(segment, idOf(ask), 'DeleteSegment', { ...ask, stale: found }, context, fold)
      return { ...outcome, stored: [...stored, ...outcome.stored] }
    },

    deleteNamespace: async (ask: { readonly key: string; readonly force: boolean }, context: Context) => {
      const fold = await foldOf(namespace, ask.key)
      const { incarnation, reservations: given } = fold.state
      const of = { namespace: ask.key, incarnation: incarnation ?? '' }
      const { found, stored } = await stale(of, ask.force ? emptyMap<Reservation>() : given, context)
      const outcome = await execute(namespace, ask.key, 'DeleteNamespace', { ...ask, stale: found }, context, fold)
      return { ...outcome, stored: [...stored, ...outcome.stored] }
    },
  }
}

/**
 * Commands with a rule across two aggregates. They are safe in any race and after any crash (docs/decisions/0003). Each
 * returns the outcome of its main command. `stored` contains the events of all streams, in the order written.
 */
export const reservations = (execute: Execute, foldOf: FoldOf, newId: () => string, now: () => Date) => {
  const means = { execute, foldOf, newId, now }
  const releasing = releaser(execute)
  const { settled } = releasing
  const withSegments = segmentUser(means, releasing)

  return {
    createFlag: async (
      ask: Omit<FlagCommands['CreateFlag'], 'incarnation' | 'generation' | 'reservation'>,
      context: Context,
    ) => {
      const key = ask.namespace
      const reservation = newId()
      const register = { key, flag: ask.key, reservation, reservedAt: now().toISOString() }
      const { state, stored } = await execute(namespace, key, 'RegisterFlag', register, aside(context))
      const { incarnation = noNamespace(key), generation } = state
      const command = { ...ask, incarnation, generation, reservation }
      const main = execute(flag, idOf(command), 'CreateFlag', command, context)
      const outcome = await settled(command, [{ reservation }], context, main)
      return { ...outcome, stored: [...stored, ...outcome.stored] }
    },

    deleteFlag: (ask: OfFlag, context: Context) =>
      settled(ask, [], context, execute(flag, idOf(ask), 'DeleteFlag', ask, context)),

    addRule: withSegments(
      'AddRule',
      ({ id, segments }) => newTo('AddRule', id, segments),
      () => noRuleParent,
    ),
    updateRule: withSegments(
      'UpdateRule',
      ({ id, segments }) => newTo('UpdateRule', id, segments),
      () => noRuleParent,
    ),
    removeRule: (ask: FlagCommands['RemoveRule'], context: Context) =>
      settled(ask, [], context, execute(flag, idOf(ask), 'RemoveRule', ask, context)),

    addRollout: withSegments(
      'AddRollout',
      ({ id, part }) => newTo('AddRollout', id, segmentsOf(part)),
      () => noRolloutParent,
    ),
    updateRollout: withSegments(
      'UpdateRollout',
      ({ id, part }) => newTo('UpdateRollout', id, segmentsOf(part)),
      () => noRolloutParent,
    ),
    removeRollout: (ask: FlagCommands['RemoveRollout'], context: Context) =>
      settled(ask, [], context, execute(flag, idOf(ask), 'RemoveRollout', ask, context)),

    /** Applies several changes as one. A segment that several parts start to use is reserved once. */
    changeFlag: withSegments('ChangeFlag', (ask) => (state) => segmentsNeeded(state, ask), noSegmentOf),

    /**
     * The deletion needs no reservation, because no other resource depends on a segment that is deleted with its
     * namespace.
     */
    createSegment: async (
      ask: Omit<SegmentCommands['CreateSegment'], 'incarnation' | 'generation'>,
      context: Context,
    ) => {
      const { incarnation = noNamespace(ask.namespace), generation } = (await foldOf(namespace, ask.namespace)).state
      const command = { ...ask, incarnation, generation }
      return execute(segment, idOf(command), 'CreateSegment', command, context)
    },

    ...deletions(means),
  }
}

export type Reservations = ReturnType<typeof reservations>
