import { type SegmentEvent, segmentEvents } from '../segment.ts'
import { changedFields, plain, quoted, type Summaries } from './sentence.ts'

const segmentOf = ({ namespace, key }: SegmentEvent['data']) => `segment ${plain(namespace)}/${plain(key)}`

/**
 * Summaries of the events of a segment. The summaries omit the values of constraints, because these may contain
 * personal data.
 */
export const segmentSummaries: Summaries<typeof segmentEvents> = {
  SegmentCreated: (data) => `${segmentOf(data)} created, matches ${data.matchType} constraints`,
  SegmentUpdated: (data) => `${segmentOf(data)}: ${changedFields(segmentEvents.SegmentUpdated.schema, data)} changed`,
  SegmentDeleted: (data) => `${segmentOf(data)} deleted`,
  ConstraintAdded: (data) =>
    `${segmentOf(data)}: constraint added, ${quoted(data.constraint.property)} ${plain(data.constraint.operator)}`,
  ConstraintUpdated: (data) => {
    const fields = changedFields(segmentEvents.ConstraintUpdated.schema.properties.constraint, data.constraint)
    return `${segmentOf(data)}, constraint ${plain(data.constraint.id)}: ${fields} changed`
  },
  ConstraintRemoved: (data) => `${segmentOf(data)}: constraint ${plain(data.constraint)} removed`,
  SegmentAttached: (data) => `${segmentOf(data)} reserved for flag ${plain(data.flag)}`,
  SegmentDetached: (data) => `${segmentOf(data)}: reservation for flag ${plain(data.flag)} released`,
}
