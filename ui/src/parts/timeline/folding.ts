import type { HistoryEvent } from '../../api/history.ts'

/** Events that no client sees as a change (history.md §1), by their present and former names. */
export const QUIET_EVENTS: readonly string[] = [
  'FlagRegistered',
  'FlagUnregistered',
  'SegmentAttached',
  'SegmentDetached',
  'ReservationVoided',
  'MembersProbed',
  'InstancesCalled',
  'MemberResponded',
  'InstanceAnswered',
]

export const isQuiet = ({ type }: HistoryEvent): boolean => QUIET_EVENTS.includes(type)

/** Event of a list, and the events next to it that belong to the same request. */
export type Fold = { readonly first: HistoryEvent; readonly rest: readonly HistoryEvent[] }

/** Groups adjacent events with the same correlation. A quiet event never hides one that clients see. */
export const foldsOf = (events: readonly HistoryEvent[]): readonly Fold[] => {
  const folds: { readonly first: HistoryEvent; readonly rest: HistoryEvent[] }[] = []
  for (const event of events) {
    const last = folds.at(-1)
    const { correlationId } = event
    const isHidden = last !== undefined && isQuiet(last.first) && !isQuiet(event)
    if (last && !isHidden && correlationId !== undefined && last.first.correlationId === correlationId)
      last.rest.push(event)
    else folds.push({ first: event, rest: [] })
  }
  return folds
}
