import { catalog } from './catalog.ts'
import { type AnyEvent, lifts, type Shapes } from './define.ts'
import { deploymentSummaries } from './summaries/deployment.ts'
import { flagSummaries } from './summaries/flag.ts'
import { cut, plain, type Summaries } from './summaries/sentence.ts'
import { tokenSummaries } from './summaries/token.ts'

/** A record of the log: category of its stream, wire name, and data as parsed JSON. */
export type Recorded = { readonly category: string; readonly type: string; readonly data: unknown }

const categories = new Map(
  Object.entries<Shapes>(catalog).map(([category, shapes]) => [category, lifts(shapes)] as const),
)

/** Returns the event of a record in its newest shape; undefined if this version cannot read it. */
export const eventOf = ({ category, type, data }: Recorded): AnyEvent | undefined =>
  categories.get(category)?.get(type)?.(data)

/** Summaries of all events. */
const summaries: Summaries<keyof typeof catalog> = { ...tokenSummaries, ...flagSummaries, ...deploymentSummaries }

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
