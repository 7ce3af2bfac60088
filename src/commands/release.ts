import { Refusal } from '../errors.ts'
import type { FlagEvent } from '../events/flag.ts'
import type { Stored } from '../events/log.ts'
import type { Outcome } from './earlier.ts'
import type { Context } from './envelope.ts'
import type { Execute } from './execute.ts'
import { type Flag, type OfFlag, usesOf } from './flag/state.ts'
import { namespace } from './namespace.ts'
import { segment } from './segment.ts'

export type FlagOutcome = Outcome<Flag, FlagEvent>
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
  /** Releases reservations. Refusals are ignored, because a reservation that its flag does not hold becomes stale. */
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
   * Awaits a command on a flag. Then releases all reservations that the flag does not hold: unused new ones and former
   * ones.
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
      // With `backend_unavailable` the append may have succeeded. The flag then holds the reservations.
      if (error instanceof Refusal && error.reason !== 'backend_unavailable') await release(of, fresh, context)
      throw error
    }
    const kept = new Set(heldBy(outcome.state).map(({ reservation }) => reservation))
    const free = [...fresh, ...heldBy(outcome.before)].filter(({ reservation }) => !kept.has(reservation))
    return { ...outcome, stored: [...outcome.stored, ...(await release(of, free, context))] }
  }

  return { release, settled }
}
