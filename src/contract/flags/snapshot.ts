import { Type } from 'typebox'
import { Float32, Int32, named, type Shown, Text, times } from '../answer.ts'
import { flagTypes, rolloutTypes, segmentOperators } from '../readers/fields.ts'

const operator = { segmentOperator: Type.Enum(segmentOperators.names) }

/** Wire names that only the snapshot uses (api.md §9). */
export const snapshotMatchTypes = { all: 'ALL_SEGMENT_MATCH_TYPE', any: 'ANY_SEGMENT_MATCH_TYPE' } as const
export const snapshotConstraintTypes = {
  unknown: 'UNKNOWN_CONSTRAINT_COMPARISON_TYPE',
  string: 'STRING_CONSTRAINT_COMPARISON_TYPE',
  number: 'NUMBER_CONSTRAINT_COMPARISON_TYPE',
  boolean: 'BOOLEAN_CONSTRAINT_COMPARISON_TYPE',
  datetime: 'DATETIME_CONSTRAINT_COMPARISON_TYPE',
  entityId: 'ENTITY_ID_CONSTRAINT_COMPARISON_TYPE',
} as const

const SnapshotSegment = named('SnapshotSegment', {
  key: Text,
  name: Text,
  description: Text,
  matchType: Type.Enum(Object.values(snapshotMatchTypes)),
  ...times,
  constraints: Type.Array(
    named('SnapshotConstraint', {
      id: Text,
      type: Type.Enum(Object.values(snapshotConstraintTypes)),
      property: Text,
      operator: Text,
      value: Text,
    }),
  ),
})
export type SnapshotSegment = Shown<typeof SnapshotSegment>

const SnapshotDistribution = named('SnapshotDistribution', {
  id: Text,
  ruleId: Text,
  variantId: Text,
  variantKey: Text,
  variantAttachment: Text,
  rollout: Float32,
})
export type SnapshotDistribution = Shown<typeof SnapshotDistribution>

const SnapshotRule = named('SnapshotRule', {
  id: Text,
  segments: Type.Array(SnapshotSegment),
  rank: Int32,
  ...operator,
  distributions: Type.Array(SnapshotDistribution),
})
export type SnapshotRule = Shown<typeof SnapshotRule>

const SnapshotRollout = named('SnapshotRollout', {
  type: Type.Enum(rolloutTypes.names),
  rank: Int32,
  segment: Type.Optional(Type.Object({ value: Type.Boolean(), ...operator, segments: Type.Array(SnapshotSegment) })),
  threshold: Type.Optional(Type.Object({ percentage: Float32, value: Type.Boolean() })),
})
export type SnapshotRollout = Shown<typeof SnapshotRollout>

const SnapshotFlag = named('SnapshotFlag', {
  key: Text,
  name: Text,
  description: Text,
  enabled: Type.Boolean(),
  type: Type.Enum(flagTypes.names),
  ...times,
  rules: Type.Array(SnapshotRule),
  rollouts: Type.Array(SnapshotRollout),
  defaultVariant: Type.Optional(Type.Object({ id: Text, key: Text, attachment: Text })),
})
export type SnapshotFlag = Shown<typeof SnapshotFlag>

/** All flags of a namespace, for clients that evaluate locally (api.md §9). */
export const Snapshot = named('Snapshot', {
  namespace: Type.Object({ key: Text }),
  flags: Type.Array(SnapshotFlag),
})
export type Snapshot = Shown<typeof Snapshot>

/** Line of a streaming snapshot (api.md §9.1). */
export const SnapshotLine = named('SnapshotLine', { result: Snapshot })
export type SnapshotLine = Shown<typeof SnapshotLine>
