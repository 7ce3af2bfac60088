import { fail } from '../../base/failure.ts'
import type { HistoryEvent, HistoryEvents } from '../../contract/history/events.ts'
import type { Client } from '../client/client.ts'
import { momentOf } from '../options.ts'
import { indexIn } from './filters.ts'

/** Path of the history of events. */
export const EVENTS = '/audit/v1/events'

/** Actor of an event, as people read it. */
export const actorText = ({ actor: { kind, id, name, user, host } }: HistoryEvent): string =>
  name ?? id ?? (user === undefined ? kind : `${user}@${host}`)

/**
 * Returns the event of a moment: at a position (#12) or an index (@11), or the last one until an instant. `personal`:
 * form of its personal data.
 */
export const eventAt = async (
  { ask }: Client,
  moment: string,
  now: number,
  personal?: 'open',
): Promise<HistoryEvent> => {
  const index = indexIn(moment)
  const [, position] = /^#?(\d+)$/.exec(moment) ?? []
  if (position !== undefined) return ask<HistoryEvent>('GET', `${EVENTS}/${position}`, { query: { personal } })
  const instant = () => new Date(Date.parse(momentOf(moment, now, 'MOMENT')) + 1).toISOString()
  const query = index === undefined ? { to: instant(), order: 'desc' } : { afterIndex: index - 1 }
  const { events } = await ask<HistoryEvents>('GET', EVENTS, { query: { ...query, personal, limit: 1 } })
  return events[0] ?? fail('notFound', `There is no event at ${moment}.`)
}
