import type { HistoryEvent } from '../../contract/history/events.ts'

/** Path of the history of events. */
export const EVENTS = '/audit/v1/events'

/** Actor of an event, as people read it. */
export const actorText = ({ actor: { kind, id, name, user, host } }: HistoryEvent): string =>
  name ?? id ?? (user === undefined ? kind : `${user}@${host}`)
