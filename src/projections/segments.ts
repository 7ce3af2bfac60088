import { replaced, without } from '../events/change.ts'
import { reader } from '../events/define.ts'
import { type Constraint, type MatchType, type SegmentEvent, segmentEvents } from '../events/segment.ts'
import { createdBy, type ResourceDoc, resourceModel, type Times, timesAt, updated } from './resource-model.ts'

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
