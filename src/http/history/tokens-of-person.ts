import type { History } from '../../history/history.ts'
import type { IndexedEvent } from '../../verifier/export/event-fields.ts'
import type { EventFilter } from '../../verifier/export/filter.ts'

/** The events that issued tokens to a person, oldest first. The search ends early after an abort. */
export async function* issuesTo(
  history: Pick<History, 'head' | 'range' | 'exported'>,
  person: string,
  stop: AbortSignal,
): AsyncGenerator<IndexedEvent> {
  const filter: EventFilter = { type: { any: ['TokenIssued'], none: [] }, subject: { any: [person], none: [] } }
  const range = await history.range(filter, {}, await history.head())
  for await (const steps of history.exported(filter, range, stop)) for (const { event } of steps) if (event) yield event
  stop.throwIfAborted()
}
