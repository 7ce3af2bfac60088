import { eachTogether } from '../../base/concurrency.ts'
import type { Binding, EventLog, LogIdentity } from '../../events/log.ts'
import { type Checkpoint, fallShort, type Totals, type View, type Views } from '../views.ts'

/** State of a view, compared with the log. */
export type ViewFound = {
  readonly name: string
  readonly checkpoint: Checkpoint | undefined
  /** Id of the event at the position of the checkpoint. */
  readonly event: string | undefined
  readonly totals: Totals
  /** Position of the newest row, and whether the log has an event there. */
  readonly newest: bigint
  readonly newestThere: boolean
}

/** Result of the inspection at a start: the log, the log with which the deployment began, and the views. */
export type Found = {
  readonly first: LogIdentity | undefined
  readonly head: bigint
  readonly bound: LogIdentity | undefined
  readonly views: readonly ViewFound[]
}

/** Reasons why a view does not fit the log, worst first. */
export const causes = ['another_log', 'shorter', 'forked', 'rows_missing'] as const
export type Cause = (typeof causes)[number]
type Unfit = { readonly view: ViewFound; readonly cause: Cause }

/**
 * Relation of the log to the stored state. `fresh`: no event yet. `same`: the log has every event that the service has
 * seen. `behind`: the same log, but the views contain events that it lacks, or they lack rows, so the views are
 * rebuilt. `another`: not the log with which the deployment began.
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
  if (checkpoint.log !== '' && checkpoint.log !== log) return 'another_log'
  if (position > 0n && event !== checkpoint.event) return lost(position)
  if (newest > position && !newestThere) return lost(newest)
  // The checkpoint of an empty log names no log, so it covers no row. A process that is killed then leaves such rows.
  return fallShort(totals, checkpoint) || (checkpoint.log === '' && newest > 0n) ? 'rows_missing' : undefined
}

/** Decides whether the stored state fits the log. */
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

/** Minimum number of events that a view contained and the log lacks. `events`: number of events in the log. */
export const goneOf = ({ view, cause }: Unfit, events: number, head: bigint): number => {
  if (cause === 'another_log' || cause === 'rows_missing') return 0
  const counted = (view.checkpoint?.events ?? 0) - events
  // If positions are numbered without gaps, the position of the newest row is the exact number.
  const rows = BigInt(events) === head ? Number(view.newest - head) : 0
  return Math.max(1, counted, rows)
}

type Log = Pick<EventLog, 'first' | 'at' | 'head'>

/** Inspects one view. Reads the checkpoint first, because rows only increase. */
const inspectView = async (
  log: Log,
  views: Pick<Views, 'checkpoint' | 'totals' | 'newest'>,
  view: View,
): Promise<ViewFound> => {
  const checkpoint = await views.checkpoint(view)
  const none = {
    name: view.name,
    checkpoint,
    event: undefined,
    totals: { rows: 0, changes: 0 },
    newest: 0n,
    newestThere: false,
  }
  if (!checkpoint) return none
  const { position } = checkpoint
  const event = position > 0n ? (await log.at(position))?.id : undefined
  const newest = await views.newest(view)
  const newestThere = newest > position && (await log.at(newest)) !== undefined
  return { ...none, event, totals: await views.totals(view), newest, newestThere }
}

/** Inspects the log, its recorded identity, and the views. Writes nothing. */
export const inspectViews = async (
  log: Log,
  views: Pick<Views, 'checkpoint' | 'totals' | 'newest'>,
  binding: Pick<Binding, 'read'>,
  all: readonly View[],
): Promise<Found> => {
  const bound = await binding.read()
  const found = await eachTogether(all, (view) => inspectView(log, views, view))
  const first = await log.first()
  return { bound, views: found, first: first && { event: first.id, position: first.position }, head: await log.head() }
}
