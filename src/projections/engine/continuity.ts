import type { LogIdentity } from '../../events/binding.ts'
import { type Checkpoint, fallShort, type Totals } from '../views.ts'

/** What there is of a view, and what the log says to it. */
export type ViewFound = {
  readonly name: string
  readonly checkpoint: Checkpoint | undefined
  /** Id of the event that the log has where the checkpoint stands. */
  readonly event: string | undefined
  readonly totals: Totals
  /** Position of its newest row, and whether the log has an event there. */
  readonly newest: bigint
  readonly newestThere: boolean
}

/** What a start finds: the log, which log the deployment was begun on, and the views. */
export type Found = {
  readonly first: LogIdentity | undefined
  readonly head: bigint
  readonly bound: LogIdentity | undefined
  readonly views: readonly ViewFound[]
}

/** Why a view does not fit its log, worst first. */
export const causes = ['another_log', 'shorter', 'forked', 'rows_missing'] as const
export type Cause = (typeof causes)[number]
type Unfit = { readonly view: ViewFound; readonly cause: Cause }

/**
 * What became of the log since it was seen last. `fresh`: there never was an event. `same`: what was seen is there. `behind`: the same log,
 * but views know what it does not have, or lack rows or changes of rows: they are to be built anew. `another`: not the log that the deployment was begun on.
 */
export type Continuity =
  | { readonly is: 'fresh' | 'same' }
  | { readonly is: 'behind'; readonly views: readonly Unfit[] }
  | { readonly is: 'another'; readonly found: string | undefined; readonly known: string }

const causeOf = (view: ViewFound, log: string, head: bigint): Cause | undefined => {
  const { checkpoint, event, totals, newest, newestThere } = view
  if (!checkpoint) return undefined
  const { position } = checkpoint
  const lost = (at: bigint): Cause => (at > head ? 'shorter' : 'forked')
  // Without a name a view is of any log as long as it has no row.
  if (checkpoint.log === '' ? newest > 0n : checkpoint.log !== log) return 'another_log'
  if (position > 0n && event !== checkpoint.event) return lost(position)
  if (newest > position && !newestThere) return lost(newest)
  return fallShort(totals, checkpoint) ? 'rows_missing' : undefined
}

/** Decides whether what is kept of a log fits the log that is there. */
export const continuityOf = ({ first, head, bound, views }: Found): Continuity => {
  const seen = views.map(({ checkpoint }) => checkpoint?.log ?? '').find((log) => log !== '')
  const known = bound?.event ?? seen
  if (known === undefined) return { is: first ? 'same' : 'fresh' }
  if (first?.event !== known) return { is: 'another', found: first?.event, known }
  const unfit = views.flatMap((view) => {
    const cause = causeOf(view, known, head)
    return cause ? [{ view, cause }] : []
  })
  return unfit.length > 0 ? { is: 'behind', views: unfit } : { is: 'same' }
}

/** How many events are gone that a view knew, at least; `events` is how many there are. */
export const goneOf = ({ view, cause }: Unfit, events: number, head: bigint): number => {
  if (cause === 'another_log' || cause === 'rows_missing') return 0
  const counted = (view.checkpoint?.events ?? 0) - events
  // Where positions count the events, the newest row says it to the event.
  const rows = BigInt(events) === head ? Number(view.newest - head) : 0
  return Math.max(1, counted, rows)
}
