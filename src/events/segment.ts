import type { Static } from 'typebox'
import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { count, key, object, oneOf, text, time, uuid, word } from './fields.ts'

const matchType = oneOf(
  'Whether an entity is in the segment if all constraints match, or if at least one constraint matches.',
  ['all', 'any'],
)
const constraint = {
  id: uuid('Id of the constraint.'),
  type: oneOf('Type of the comparison.', ['string', 'number', 'boolean', 'datetime', 'entityId']),
  property: text('The compared property of the evaluation context; `entityId` for type `entityId`.'),
  operator: word('Comparison operator.', 'operator, such as `eq` or `isoneof`'),
  value: text(
    'Comparison value. The value is not encrypted, although it may contain personal data such as ids of entities.',
    'text; a JSON array of texts or numbers for `isoneof` and `isnotoneof`; `""` for operators that need none',
  ),
  description: text('Description of the purpose of the constraint.'),
}
const Constraint = object('The constraint.', constraint)
const constraintId = uuid('Id of the constraint.')
const name = text('Name of the segment for people, such as in the web UI.')
const description = text('Description of the purpose.')
const flag = key('Key of the flag that uses the segment.')

/** Identifies the segment and the incarnation of its namespace in every event. */
const segment = {
  namespace: key('Key of the namespace.'),
  key: key('Key of the segment.'),
  incarnation: uuid('Id of the incarnation of the namespace. Each creation of a namespace has a new id.'),
}

/** Lifecycle of a segment with its constraints. Stream: segment-{namespace}+{key}. */
export const segmentEvents = {
  SegmentCreated: v1(
    object('A segment was created. A new segment has no constraints.', {
      ...segment,
      generation: count("Number of the incarnation of the namespace's key: 1 for the first."),
      name,
      description,
      matchType,
    }),
  ),
  SegmentUpdated: v1(
    object('Fields of the segment itself changed.', {
      ...segment,
      name: change(name),
      description: change(description),
      matchType: change(matchType),
    }),
  ),
  SegmentDeleted: v1(object('The segment was deleted with its constraints. No rule or rollout used it.', segment)),
  ConstraintAdded: v1(object('A constraint was added.', { ...segment, constraint: Constraint })),
  ConstraintUpdated: v1(
    object('A constraint changed.', {
      ...segment,
      constraint: object('The constraint and its changed fields.', {
        id: constraint.id,
        type: change(constraint.type),
        property: change(constraint.property),
        operator: change(constraint.operator),
        value: change(constraint.value),
        description: change(constraint.description),
      }),
    }),
  ),
  ConstraintRemoved: v1(object('A constraint was removed.', { ...segment, constraint: constraintId })),
  SegmentAttached: v1(
    object(
      'A reservation was made for a rule or rollout that is about to use the segment. Each use of a segment needs a reservation. While the reservation exists, the segment counts as in use (decision 3).',
      {
        ...segment,
        flag,
        reservation: uuid('Id of the reservation. The events of the rule or rollout contain this id.'),
        reservedAt: time('Time of the reservation.'),
      },
    ),
  ),
  SegmentDetached: v1(
    object('A reservation was released, because the rule or rollout stopped using the segment or never used it.', {
      ...segment,
      flag,
      reservation: uuid('Id of the released reservation.'),
    }),
  ),
}

export type SegmentEvent = EventOf<typeof segmentEvents>
export type Constraint = Readonly<Static<typeof Constraint>>
export type MatchType = Static<typeof matchType>
