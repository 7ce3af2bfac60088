import { type AnyEvent, type DataOf, typeName } from '../events/define.ts'
import type { Stored } from '../events/log.ts'
import { missingBefore, readEvent, type Unreadable, unreadable, unreadableBy } from '../events/unreadable.ts'
import type { Closed, Row, View } from './views.ts'

/** Where an event stands, and who wrote it, for a projection. `closed`: what came before it cannot be read. */
export type At = Pick<Stored, 'time' | 'position' | 'meta'> & { readonly closed?: true }

/** Place in a list ordered by creation: time, then log position, as text that compares. */
export const orderOf = ({ time, position }: Pick<At, 'time' | 'position'>): string =>
  `${time} ${String(position).padStart(20, '0')}`

/** Compares two documents by their place in lists. */
export const compareOrder = (a: Ordered, b: Ordered): number => (a.doc.order < b.doc.order ? -1 : 1)
type Ordered = { readonly doc: { readonly order: string } }

/**
 * A read model: the documents of one category, one a stream, keyed by the stream's id. Pure and total over the category's events;
 * live, rebuilt and time-travelled documents are the same code. `undefined` = no document (any more).
 */
export type Projection<D extends object, E extends AnyEvent> = View & {
  readonly category: string
  readonly read: (wire: string, json: string) => E
  /** Events that leave the document unchanged, and the resource as a client sees it (the decider's own set). */
  readonly quiet?: ReadonlySet<E['type']>
  /** Events after which the document is over, so that nothing which cannot be read before them matters any more. */
  readonly ends?: ReadonlySet<E['type']>
  /** What a document is looked up by, found in the data of an event that cannot be read. */
  readonly clue?: (json: string) => string | undefined
  readonly on: { readonly [K in E['type']]: (doc: D | undefined, data: DataOf<E, K>, at: At) => D | undefined }
}

/** Whether these events leave the document as it is, so that a stored row need not follow them. */
export const areQuiet = ({ quiet }: { readonly quiet?: ReadonlySet<string> }, events: readonly Stored[]): boolean =>
  quiet !== undefined && events.every(({ type }) => quiet.has(typeName(type)))

/** The row of a stream's document closed by an event. */
const closed = <D extends object, E extends AnyEvent>(
  { clue }: Projection<D, E>,
  row: Row<D> | undefined,
  { data }: Stored,
  by: Unreadable,
): Closed<D> => {
  const found = row?.doc === undefined ? clue?.(data) : undefined
  return { ...by, ...(row?.doc && { before: row.doc }), ...(found !== undefined && { clue: found }) }
}

/**
 * The row after one more event of its stream. One that cannot be read, or in front of which others are missing, closes the document and
 * whatever comes behind it leaves it closed, but for an event that ends it. This is the one place that every read model is closed in.
 * `lost`: what is known to be missing in front of the event.
 */
export const project = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  row: Row<D> | undefined,
  stored: Stored,
  lost?: Unreadable,
): Row<D> => {
  const { revision, position, type } = stored
  const key = stored.stream.slice(projection.category.length + 1)
  const due = (row?.revision ?? -1n) + 1n
  const changes = (row?.changes ?? 0n) + (areQuiet(projection, [stored]) ? 0n : 1n)
  const gap = lost ?? (revision > due ? missingBefore(stored, due) : undefined)
  const before = row?.unreadable ?? (gap && closed(projection, row, stored, gap))
  const place = { key, revision, position }
  if (before ? !projection.ends?.has(typeName(type)) : areQuiet(projection, [stored]))
    return { ...place, changes, doc: row?.doc, ...(before && { doc: undefined, unreadable: before }) }
  try {
    const event = readEvent(projection.read, stored)
    const at = before ? ({ ...stored, closed: true } as const) : stored
    const doc = projection.on[event.type as E['type']](before ? before.before : row?.doc, event.data, at)
    return { ...place, changes, doc }
  } catch (error) {
    const by = unreadableBy(error, stored)
    return { ...place, changes, doc: undefined, unreadable: before ?? closed(projection, row, stored, by) }
  }
}

/** The row, unless it is closed: then it refuses with `event_unreadable`. */
export const readable = <R extends Row>(row: R | undefined): R | undefined => {
  if (row?.unreadable) throw unreadable(row.unreadable)
  return row
}

/** The document of a row, or, where that is closed, what it was before, as far as it is known. */
export const lastKnown = <D extends object>(row: Row<D> | undefined): D | undefined =>
  row?.doc ?? row?.unreadable?.before

/** A projection of any kind, as the runner sees it. */
export type AnyProjection = Projection<object, AnyEvent>

/** A typed projection under the runner's type: its documents and events only ever meet its own functions. */
export const anyProjection = <D extends object, E extends AnyEvent>(projection: Projection<D, E>): AnyProjection =>
  projection as unknown as AnyProjection

/** Finds the row of a document among rows of any projection, under the type of the one it belongs to. */
export type RowOf = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  key: string,
) => Row<D> | undefined

/** Rows with the projections that made them, to be found by these again. */
export const rowOf =
  (rows: readonly (readonly [AnyProjection, Row])[]): RowOf =>
  <D extends object, E extends AnyEvent>({ name }: Projection<D, E>, key: string) =>
    rows.find(([projection, row]) => projection.name === name && row.key === key)?.[1] as Row<D> | undefined
