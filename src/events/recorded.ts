import { catalog } from './catalog.ts'
import { type AnyEvent, lifts, type Shapes } from './define.ts'

/** A record of the log: category of its stream, wire name, and data as parsed JSON. */
export type Recorded = { readonly category: string; readonly type: string; readonly data: unknown }

const categories = new Map(
  Object.entries<Shapes>(catalog).map(([category, shapes]) => [category, lifts(shapes)] as const),
)

/** Returns the event of a record in its newest shape; undefined if this version cannot read it. */
export const eventOf = ({ category, type, data }: Recorded): AnyEvent | undefined =>
  categories.get(category)?.get(type)?.(data)
