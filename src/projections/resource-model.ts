import { changed, replaced, type Update, without } from '../events/change.ts'
import { type AnyEvent, reader } from '../events/define.ts'
import type { Actor } from '../events/meta.ts'
import { type NamespaceEvent, namespaceEvents } from '../events/namespace.ts'
import { type Constraint, type MatchType, type SegmentEvent, segmentEvents } from '../events/segment.ts'
import { type At, orderOf, type Projection } from './projection.ts'

/** Creation and last change of a resource or a part of one, RFC 3339 UTC with milliseconds. */
export type Times = { readonly createdAt: string; readonly updatedAt: string }

/**
 * Time (RFC 3339 UTC with milliseconds) and actor of the last change of a document or its parts. The actor is absent if
 * the event has none.
 */
export type LastChange = { readonly changedAt: string; readonly changedBy?: Actor }

/** Fields of every resource. `order` is the sort key of lists. */
export type ResourceDoc = Times &
  LastChange & {
    readonly key: string
    readonly incarnation: string
    readonly order: string
    readonly name: string
    readonly description: string
  }

/** Times of a part that an event creates. */
export const timesAt = (time: string): Times => ({ createdAt: time, updatedAt: time })

/** Times and place in lists of a document that an event creates. */
export const createdBy = (at: At): Times & { readonly order: string } => ({ order: orderOf(at), ...timesAt(at.time) })

/** Applies an update event to a document or part. */
export const updated = <T extends Times>(before: T, update: Update<T>, updatedAt: string): T => ({
  ...changed(before, update),
  updatedAt,
})

/** Actor of an event; undefined if the metadata is damaged, because events are read by their data. */
const actorOf = (meta: string): Actor | undefined => {
  try {
    return (JSON.parse(meta) as { readonly actor?: Actor } | null)?.actor
  } catch {
    return undefined
  }
}

type Folds<D extends object, E extends AnyEvent> = Projection<D, E>['on']
/** Functions for events that do not set the last change of a document. */
type Unstamped<D extends object, E extends AnyEvent> = {
  readonly [K in E['type']]: (
    ...[doc, data, at]: Parameters<Folds<D, E>[K]>
  ) => D | Omit<D, keyof LastChange> | undefined
}
type Fold<D extends object> = (doc: D | undefined, data: unknown, at: At) => D | undefined

/**
 * Functions for events that also set the last change of the document. Events that clients cannot see do not change it.
 */
const stamped = <D extends LastChange, E extends AnyEvent>(
  quiet: ReadonlySet<string>,
  folds: Unstamped<D, E>,
): Folds<D, E> => {
  const stamp =
    (fold: Fold<D>): Fold<D> =>
    (doc, data, at) => {
      const next = fold(doc, data, at)
      if (!next) return undefined
      const changedBy = actorOf(at.meta)
      if (changedBy) return { ...next, changedAt: at.time, changedBy }
      const { changedBy: _before, ...rest } = next
      return { ...rest, changedAt: at.time } as D
    }
  const all = Object.entries(folds as unknown as Readonly<Record<string, Fold<D>>>)
  return Object.fromEntries(all.map(([type, fold]) => [type, quiet.has(type) ? fold : stamp(fold)])) as Folds<D, E>
}

type Model<D extends object, E extends AnyEvent> = Omit<Projection<D, E>, 'fields' | 'indexes' | 'on'> & {
  readonly quiet: ReadonlySet<E['type']>
  readonly on: Unstamped<D, E>
}

/**
 * Read model of a kind of resource. The documents of a resource contain their last change. No field is searchable,
 * because memory has the documents.
 */
export const resourceModel = <D extends ResourceDoc, E extends AnyEvent>(model: Model<D, E>): Projection<D, E> => ({
  ...model,
  fields: [],
  indexes: [],
  on: stamped(model.quiet, model.on),
})

export type NamespaceDoc = ResourceDoc & { readonly protected: boolean }

/** Read model of the namespaces. */
export const namespaces = resourceModel<NamespaceDoc, NamespaceEvent>({
  name: 'namespaces',
  version: 5,
  category: 'namespace',
  read: reader(namespaceEvents),
  quiet: new Set(['FlagRegistered', 'FlagUnregistered']),
  on: {
    NamespaceCreated: (_, data, at) => ({ ...data, ...createdBy(at) }),
    NamespaceUpdated: (doc, update, { time }) => doc && updated(doc, update, time),
    NamespaceDeleted: () => undefined,
    FlagRegistered: (doc) => doc,
    FlagUnregistered: (doc) => doc,
  },
})

export type ConstraintDoc = Constraint & Times

/** A segment with its constraints, in order of creation. */
export type SegmentDoc = ResourceDoc & {
  readonly namespace: string
  readonly matchType: MatchType
  readonly constraints: readonly ConstraintDoc[]
}

/** Read model of the segments. */
export const segments = resourceModel<SegmentDoc, SegmentEvent>({
  name: 'segments',
  version: 5,
  category: 'segment',
  read: reader(segmentEvents),
  quiet: new Set(['SegmentAttached', 'SegmentDetached']),
  on: {
    SegmentCreated: (_, { generation: _generation, ...data }, at) => ({
      ...data,
      constraints: [],
      ...createdBy(at),
    }),
    SegmentUpdated: (doc, update, { time }) => doc && updated(doc, update, time),
    SegmentDeleted: () => undefined,
    ConstraintAdded: (doc, { constraint }, { time }) =>
      doc && { ...doc, constraints: [...doc.constraints, { ...constraint, ...timesAt(time) }] },
    ConstraintUpdated: (doc, { constraint }, { time }) =>
      doc && {
        ...doc,
        constraints: replaced(doc.constraints, constraint.id, (part) => updated(part, constraint, time)),
      },
    ConstraintRemoved: (doc, { constraint }) => doc && { ...doc, constraints: without(doc.constraints, constraint) },
    SegmentAttached: (doc) => doc,
    SegmentDetached: (doc) => doc,
  },
})
