import { replaced, without } from '../events/change.ts'
import { reader } from '../events/define.ts'
import { type Constraint, type MatchType, type SegmentEvent, segmentEvents } from '../events/segment.ts'
import { type LastChange, stamped } from './last-change.ts'
import type { Projection } from './projection.ts'
import { createdBy, type Times, timesAt, updated } from './times.ts'

export type ConstraintDoc = Constraint & Times

/** A segment with its constraints, in order of creation. `order` is the sort key of lists. */
export type SegmentDoc = Times &
  LastChange & {
    readonly namespace: string
    readonly key: string
    readonly incarnation: string
    readonly order: string
    readonly name: string
    readonly description: string
    readonly matchType: MatchType
    readonly constraints: readonly ConstraintDoc[]
  }

const quiet: ReadonlySet<SegmentEvent['type']> = new Set(['SegmentAttached', 'SegmentDetached'])

/** Read model of the segments. */
export const segments: Projection<SegmentDoc, SegmentEvent> = {
  name: 'segments',
  version: 5,
  fields: [],
  indexes: [],
  category: 'segment',
  read: reader(segmentEvents),
  quiet,
  on: stamped<SegmentDoc, SegmentEvent>(quiet, {
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
  }),
}
