import { Type } from 'typebox'
import type { ConstraintDoc, SegmentDoc } from '../../projections/segments.ts'
import { comparisonTypes, matchTypes } from '../../contract/enums.ts'

const Text = Type.String()
const times = { createdAt: Type.String({ format: 'date-time' }), updatedAt: Type.String({ format: 'date-time' }) }

/** The resources of a segment as clients see them (api.md §7.2). */
export const Constraint = Type.Object({
  id: Text,
  segmentKey: Text,
  namespaceKey: Text,
  type: Type.Enum(comparisonTypes.names),
  property: Text,
  operator: Text,
  value: Text,
  description: Text,
  ...times,
})
export const Segment = Type.Object({
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  matchType: Type.Enum(matchTypes.names),
  constraints: Type.Array(Constraint),
  ...times,
})

type OfSegment = Pick<SegmentDoc, 'namespace' | 'key'>

export const constraintJson = ({ namespace, key }: OfSegment, { type, ...constraint }: ConstraintDoc) => {
  const { id, property, operator, value, description, createdAt, updatedAt } = constraint
  const named = { id, segmentKey: key, namespaceKey: namespace, type: comparisonTypes.wire[type] }
  return { ...named, property, operator, value, description, createdAt, updatedAt }
}

export const segmentJson = (doc: SegmentDoc) => {
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
