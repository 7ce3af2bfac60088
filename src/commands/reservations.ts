import { refuse } from '../base/errors.ts'
import type { Stored } from '../events/log.ts'
import type { Context } from './envelope.ts'
import type { Execute, FoldOf } from './execute.ts'
import { type FlagCommands, flag } from './flag/flag.ts'
import { noRolloutParent, segmentsOf } from './flag/rollouts.ts'
import { noRuleParent } from './flag/rules.ts'
import { newTo, noSegmentOf, segmentsNeeded } from './flag/segments-needed.ts'
import { holds, type OfFlag } from './flag/state.ts'
import { namespace, RESERVATION_LIFE_MS, type Reservation } from './namespace.ts'
import { emptyMap, type PersistentMap } from './persistent-map.ts'
import { type SegmentCommands, segment } from './segment.ts'
import { aside, idOf, type Means, releaser, segmentUser } from './segment-reservations.ts'

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
