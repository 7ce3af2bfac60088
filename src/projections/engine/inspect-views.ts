import { eachTogether } from '../../base/concurrency.ts'
import type { Binding } from '../../events/binding.ts'
import type { EventLog } from '../../events/log.ts'
import type { View, Views } from '../views.ts'
import type { Found, ViewFound } from './continuity.ts'

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
