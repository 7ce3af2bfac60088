import { isRefusal, Refusal } from '../base/errors.ts'
import type { FlagEvent } from '../events/flag.ts'
import type { Stored } from '../events/log.ts'
import type { Outcome } from './earlier.ts'
import type { Context } from './envelope.ts'
import type { Execute, FoldOf } from './execute.ts'
import { type FlagCommands, flag } from './flag/flag.ts'
import { type Flag, lives, type OfFlag, usesOf } from './flag/state.ts'
import { namespace } from './namespace.ts'
import { segment } from './segment.ts'

type FlagOutcome = Outcome<Flag, FlagEvent>
/** Reservation on a segment, or on the namespace if `segment` is absent. */
type HeldReservation = { readonly reservation: string; readonly segment?: string }

/** Stream name of a flag or segment without the category. */
export const idOf = ({ namespace, key }: OfFlag) => `${namespace}+${key}`
const heldBy = (state: Flag): HeldReservation[] => [
  ...(state.reservation === undefined ? [] : [{ reservation: state.reservation }]),
  ...usesOf(state),
]

/** Removes command id and If-Match from a context, because they apply to the main command, not to its reservations. */
export const aside = ({
  commandId: _commandId,
  ifMatch: _ifMatch,
  needsEffect: _needsEffect,
  ...context
}: Context): Context => context

/** Releases reservations on namespaces and segments (docs/decisions/0003). */
export const releaser = (execute: Execute) => {
  /**
   * Releases reservations. Refusals are ignored, because a reservation that its flag does not use becomes invalid with
   * time.
   */
  const release = async (of: OfFlag, given: readonly HeldReservation[], context: Context): Promise<Stored[]> => {
    const stored: Stored[] = []
    for (const { reservation, segment: key } of given) {
      try {
        const { stored: more } =
          key === undefined
            ? await execute(
                namespace,
                of.namespace,
                'UnregisterFlag',
                { key: of.namespace, reservation },
                aside(context),
              )
            : await execute(segment, idOf({ ...of, key }), 'DetachSegment', { ...of, key, reservation }, aside(context))
        stored.push(...more)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
    }
    return stored
  }

  /**
   * Awaits a command on a flag. Afterwards it releases all reservations that the flag does not use: new reservations
   * that the command did not need, and reservations that the flag no longer needs.
   */
  const settled = async (
    of: OfFlag,
    fresh: readonly HeldReservation[],
    context: Context,
    main: Promise<FlagOutcome>,
  ): Promise<FlagOutcome> => {
    let outcome: FlagOutcome
    try {
      outcome = await main
    } catch (error) {
      // With `backend_unavailable` the append may have succeeded. In that case the flag uses the reservations.
      if (error instanceof Refusal && error.reason !== 'backend_unavailable') await release(of, fresh, context)
      throw error
    }
    const kept = new Set(heldBy(outcome.state).map(({ reservation }) => reservation))
    const free = [...fresh, ...heldBy(outcome.before)].filter(({ reservation }) => !kept.has(reservation))
    return { ...outcome, stored: [...outcome.stored, ...(await release(of, free, context))] }
  }

  return { release, settled }
}

type Asks = 'AddRule' | 'UpdateRule' | 'AddRollout' | 'UpdateRollout' | 'ChangeFlag'
/** Command on a flag, before the required reservations are made. */
type WithoutReservations<K extends keyof FlagCommands> = Omit<FlagCommands[K], 'reservations'>

/** Maximum number of attempts if other writers change the rule or rollout between reservation and command. */
const ROUNDS = 3

/** Dependencies: `newId` creates reservation ids, `now` gives the time of reservation. */
export type Means = {
  readonly execute: Execute
  readonly foldOf: FoldOf
  readonly newId: () => string
  readonly now: () => Date
}

/** Executes commands by which rules or rollouts use further segments, and reserves these segments for the flag. */
export const segmentUser = (
  { execute, foldOf, newId, now }: Means,
  { release, settled }: ReturnType<typeof releaser>,
) => {
  const attached = async (
    of: OfFlag,
    keys: readonly string[],
    missing: (of: OfFlag, key: string) => never,
    context: Context,
  ) => {
    const uses: { segment: string; reservation: string }[] = []
    const stored: Stored[] = []
    for (const key of keys) {
      const reservation = newId()
      const { namespace, incarnation } = of
      const ask = { namespace, key, incarnation, flag: of.key, reservation, reservedAt: now().toISOString() }
      try {
        stored.push(...(await execute(segment, idOf(ask), 'AttachSegment', ask, aside(context))).stored)
      } catch (error) {
        await release(of, uses, context)
        if (isRefusal(error, 'not_found')) missing(of, key)
        throw error
      }
      uses.push({ segment: key, reservation })
    }
    return { uses, stored }
  }

  /**
   * Returns the command `name`. `neededBy` returns the segments to reserve, `missing` refuses a segment that does not
   * exist.
   */
  return <K extends Asks>(
    name: K,
    neededBy: (ask: WithoutReservations<K>) => (state: Flag) => readonly string[] | Promise<readonly string[]>,
    missing: (ask: WithoutReservations<K>) => (of: OfFlag, key: string) => never,
  ) =>
    async (ask: WithoutReservations<K> & OfFlag, context: Context): Promise<FlagOutcome> => {
      const { namespace, key, incarnation } = ask
      const of = { namespace, key, incarnation }
      for (let round = 1; ; round++) {
        const fold = await foldOf(flag, idOf(of))
        const keys = lives(fold.state, of) ? await neededBy(ask)(fold.state) : []
        const { uses, stored } = await attached(of, keys, missing(ask), context)
        try {
          const command = { ...ask, reservations: uses } as unknown as FlagCommands[K]
          const outcome = await settled(of, uses, context, execute(flag, idOf(of), name, command, context, fold))
          return { ...outcome, stored: [...stored, ...outcome.stored] }
        } catch (error) {
          if (!isRefusal(error, 'write_conflict') || round === ROUNDS) throw error
        }
      }
    }
}
