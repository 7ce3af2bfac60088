import { eventOf, type Recorded } from './recorded.ts'
import { summaries } from './summaries/all.ts'
import { cut, plain } from './summaries/sentence.ts'

type ByType = Readonly<Record<string, (data: never) => string>>

/**
 * Summary of a record: one English sentence on one line, at most 300 UTF-16 units, without a final stop. The summary
 * contains no sealed value, digest or secret. It never throws.
 */
export const summaryOf = (recorded: Recorded): string => {
  const event = eventOf(recorded)
  if (!event) return cut(`event ${plain(recorded.type)} that this version cannot read`)
  return cut((summaries as Readonly<Record<string, ByType>>)[recorded.category]![event.type]!(event.data as never))
}
