import { type Static, Type } from 'typebox'
import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'

const Text = Type.String()
const MatchType = Type.Union([Type.Literal('all'), Type.Literal('any')])
const ConstraintType = Type.Union([
  Type.Literal('string'),
  Type.Literal('number'),
  Type.Literal('boolean'),
  Type.Literal('datetime'),
  Type.Literal('entityId'),
])
const Constraint = Type.Object({
  id: Text,
  type: ConstraintType,
  property: Text,
  operator: Text,
  value: Text,
  description: Text,
})

/** Every event names its segment and the life of the namespace it belongs to. */
const segment = { namespace: Text, key: Text, incarnation: Text }

/** Life of one segment with its constraints. Stream: segment-{namespace}+{key}. Constraint values are kept in the text form of api.md §7.3. */
export const segmentEvents = {
  /** `generation` counts the lives of the namespace's key. */
  SegmentCreated: v1(
    Type.Object({ ...segment, generation: Type.Integer(), name: Text, description: Text, matchType: MatchType }),
  ),
  SegmentUpdated: v1(
    Type.Object({ ...segment, name: change(Text), description: change(Text), matchType: change(MatchType) }),
  ),
  SegmentDeleted: v1(Type.Object(segment)),
  ConstraintAdded: v1(Type.Object({ ...segment, constraint: Constraint })),
  ConstraintUpdated: v1(
    Type.Object({
      ...segment,
      constraint: Type.Object({
        id: Text,
        type: change(ConstraintType),
        property: change(Text),
        operator: change(Text),
        value: change(Text),
        description: change(Text),
      }),
    }),
  ),
  ConstraintRemoved: v1(Type.Object({ ...segment, constraint: Text })),
  /** A reservation of a rule or rollout that is about to use the segment; while it stands, the segment is in use (docs/decisions/0003). */
  SegmentAttached: v1(Type.Object({ ...segment, flag: Text, reservation: Text, reservedAt: Text })),
  SegmentDetached: v1(Type.Object({ ...segment, flag: Text, reservation: Text })),
}

export type SegmentEvent = EventOf<typeof segmentEvents>
export type Constraint = Readonly<Static<typeof Constraint>>
export type MatchType = Static<typeof MatchType>
