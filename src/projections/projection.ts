import { type AnyEvent, type DataOf, typeName } from '../events/define.ts'
import type { Stored } from '../events/log.ts'
import type { Row, View } from './views.ts'

/** Where an event stands, for a projection. */
export type At = Pick<Stored, 'time' | 'position'>

/** Place in a list ordered by creation: time, then log position, as text that compares. */
export const orderOf = ({ time, position }: At): string => `${time} ${String(position).padStart(20, '0')}`

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
  readonly on: { readonly [K in E['type']]: (doc: D | undefined, data: DataOf<E, K>, at: At) => D | undefined }
}

/** Whether these events leave the document as it is, so that a stored row need not follow them. */
export const areQuiet = ({ quiet }: { readonly quiet?: ReadonlySet<string> }, events: readonly Stored[]): boolean =>
  quiet !== undefined && events.every(({ type }) => quiet.has(typeName(type)))

/** The row after one more event of its stream. The event must be the one right behind the row. */
export const project = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  row: Row<D> | undefined,
  stored: Stored,
): Row<D> => {
  const event = projection.read(stored.type, stored.data)
  const changes = (row?.changes ?? 0n) + (projection.quiet?.has(event.type) ? 0n : 1n)
  const doc = projection.on[event.type as E['type']](row?.doc, event.data, stored)
  const key = stored.stream.slice(projection.category.length + 1)
  return { key, revision: stored.revision, position: stored.position, changes, doc }
}

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
