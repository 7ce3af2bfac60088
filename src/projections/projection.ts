import { createHash } from 'node:crypto'
import { canonical } from '../base/canonical.ts'
import { type AnyEvent, type DataOf, typeName } from '../events/define.ts'
import type { Stored } from '../events/log.ts'
import { missingBefore, readEvent, type Unreadable, unreadable, unreadableBy } from '../events/unreadable.ts'
import type { Closed, Row, View } from './views.ts'

/** Position, time and metadata of an event. `closed`: earlier events of its stream are unreadable. */
export type At = Pick<Stored, 'time' | 'position' | 'meta'> & { readonly closed?: true }

/** Sort key of lists ordered by creation: time, then log position, as comparable text. */
export const orderOf = ({ time, position }: Pick<At, 'time' | 'position'>): string =>
  `${time} ${String(position).padStart(20, '0')}`

/** Compares two documents by their order of creation. */
export const compareOrder = (a: Ordered, b: Ordered): number => (a.doc.order < b.doc.order ? -1 : 1)
type Ordered = { readonly doc: { readonly order: string } }

/**
 * A read model: the documents of one category, one per stream, with the id of the stream as key. The functions of a
 * read model are pure and cover all events of the category, so that present, rebuilt and past documents result from the
 * same code. `undefined`: no document.
 */
export type Projection<D extends object, E extends AnyEvent> = View & {
  readonly category: string
  readonly read: (wire: string, json: string) => E
  /** Events that change neither the document nor the resource that clients see (the set of the decider). */
  readonly quiet?: ReadonlySet<E['type']>
  /** Events that end the document, so that unreadable events before them no longer matter. */
  readonly ends?: ReadonlySet<E['type']>
  /** Extracts the lookup field of a document from the data of an unreadable event. */
  readonly clue?: (json: string) => string | undefined
  readonly on: { readonly [K in E['type']]: (doc: D | undefined, data: DataOf<E, K>, at: At) => D | undefined }
}

/**
 * True if these events do not change the document, so that its stored row may have an older revision than the stream.
 */
export const areQuiet = ({ quiet }: { readonly quiet?: ReadonlySet<string> }, events: readonly Stored[]): boolean =>
  quiet !== undefined && events.every(({ type }) => quiet.has(typeName(type)))

/** State of a document that is unreadable because of an event. */
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
 * Returns the row after the next event of its stream. An unreadable event, or a gap before the event, makes the
 * document unreadable until an event ends it. All read models mark documents as unreadable here. `lost` describes a
 * known gap before the event.
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

/** Returns the row; refuses with `event_unreadable` if it is unreadable. */
export const readable = <R extends Row>(row: R | undefined): R | undefined => {
  if (row?.unreadable) throw unreadable(row.unreadable)
  return row
}

/** The document of a row; of an unreadable row, the last known one. */
export const lastKnown = <D extends object>(row: Row<D> | undefined): D | undefined =>
  row?.doc ?? row?.unreadable?.before

/** A projection of any type, as the follower uses it. */
export type AnyProjection = Projection<object, AnyEvent>

/**
 * Converts a typed projection for the follower. The documents and events of a projection are passed only to its own
 * functions.
 */
export const anyProjection = <D extends object, E extends AnyEvent>(projection: Projection<D, E>): AnyProjection =>
  projection as unknown as AnyProjection

/** Finds the row of a document, with the type of its projection. */
export type RowOf = <D extends object, E extends AnyEvent>(
  projection: Projection<D, E>,
  key: string,
) => Row<D> | undefined

/**
 * SHA-256 in base64 of the document of a row, equal for equal documents. Revision and position are left out, because a
 * stored row may lack those of events that change nothing.
 */
export const rowHash = ({ changes, doc, unreadable }: Row): string =>
  createHash('sha256')
    .update(
      canonical({
        changes: String(changes),
        ...(doc && { doc }),
        ...(unreadable && { unreadable: unreadable.revision }),
      }),
    )
    .digest('base64')
