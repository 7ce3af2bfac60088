import { type SegmentEvent, segmentEvents } from '../segment.ts'
import { changedFields, plain, quoted, type Summaries } from './sentence.ts'

const SEGMENT = 'segment <namespace>/<key>'
const segmentOf = ({ namespace, key }: SegmentEvent['data']) => `segment ${plain(namespace)}/${plain(key)}`

/**
 * Summaries of the events of a segment. The summaries omit the values of constraints, because these may contain
 * personal data.
 */
export const segmentSummaries: Summaries<typeof segmentEvents> = {
  SegmentCreated: {
    patterns: [`${SEGMENT} created, matches (all|any) constraints`],
    of: (data) => `${segmentOf(data)} created, matches ${data.matchType} constraints`,
  },
  SegmentUpdated: {
    patterns: [`${SEGMENT}: <fields> changed`],
    of: (data) => `${segmentOf(data)}: ${changedFields(segmentEvents.SegmentUpdated.schema, data)} changed`,
  },
  SegmentDeleted: {
    patterns: [`${SEGMENT} deleted`],
    of: (data) => `${segmentOf(data)} deleted`,
  },
  ConstraintAdded: {
    patterns: [`${SEGMENT}: constraint added, "<property>" <operator>`],
    of: (data) =>
      `${segmentOf(data)}: constraint added, ${quoted(data.constraint.property)} ${plain(data.constraint.operator)}`,
  },
  ConstraintUpdated: {
    patterns: [`${SEGMENT}, constraint <id>: <fields> changed`],
    of: (data) => {
      const fields = changedFields(segmentEvents.ConstraintUpdated.schema.properties.constraint, data.constraint)
      return `${segmentOf(data)}, constraint ${plain(data.constraint.id)}: ${fields} changed`
    },
  },
  ConstraintRemoved: {
    patterns: [`${SEGMENT}: constraint <id> removed`],
    of: (data) => `${segmentOf(data)}: constraint ${plain(data.constraint)} removed`,
  },
  SegmentAttached: {
    patterns: [`${SEGMENT} reserved for flag <key>`],
    of: (data) => `${segmentOf(data)} reserved for flag ${plain(data.flag)}`,
  },
  SegmentDetached: {
    patterns: [`${SEGMENT}: reservation for flag <key> released`],
    of: (data) => `${segmentOf(data)}: reservation for flag ${plain(data.flag)} released`,
  },
}
