import type { Constraint, Segment } from '../../contract/flags/segment.ts'
import { comparisonTypes, matchTypes } from '../../contract/readers/fields.ts'
import type { ConstraintDoc, SegmentDoc } from '../../projections/resource-model.ts'

type OfSegment = Pick<SegmentDoc, 'namespace' | 'key'>

export const constraintJson = ({ namespace, key }: OfSegment, { type, ...constraint }: ConstraintDoc): Constraint => {
  const { id, property, operator, value, description, createdAt, updatedAt } = constraint
  const named = { id, segmentKey: key, namespaceKey: namespace, type: comparisonTypes.wire[type] }
  return { ...named, property, operator, value, description, createdAt, updatedAt }
}

export const segmentJson = (doc: SegmentDoc): Segment => {
  const { namespace, key, name, description, matchType, createdAt, updatedAt } = doc
  const constraints = doc.constraints.map((constraint) => constraintJson(doc, constraint))
  return {
    key,
    namespaceKey: namespace,
    name,
    description,
    matchType: matchTypes.wire[matchType],
    constraints,
    createdAt,
    updatedAt,
  }
}
