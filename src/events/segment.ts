import type { Static } from 'typebox'
import { change } from './change.ts'
import { type EventOf, v1 } from './define.ts'
import { count, key, object, oneOf, text, time, uuid, word } from './fields.ts'

const matchType = oneOf('Whether all constraints must match or any one.', ['all', 'any'])
const constraint = {
  id: uuid('The constraint.'),
  type: oneOf('What is compared, and as what.', ['string', 'number', 'boolean', 'datetime', 'entityId']),
  property: text('The property of the evaluation context that is compared; `entityId` for that type.'),
  operator: word('How it is compared.', 'operator, such as `eq` or `isoneof`'),
  value: text(
    'What it is compared with; a list may name people, such as ids of entities, and is not sealed.',
    'text; a JSON array of texts or numbers for `isoneof` and `isnotoneof`; `""` for operators that need none',
  ),
  description: text('What the constraint is for.'),
}
const Constraint = object('The constraint.', constraint)
const constraintId = uuid('The constraint.')
const name = text('Its name, for people.')
const description = text('What it is for.')
const flag = key('The flag that uses it.')

/** Every event names its segment and the life of the namespace it belongs to. */
const segment = {
  namespace: key('The namespace.'),
  key: key('The segment.'),
  incarnation: uuid('The life of the namespace that the segment belongs to.'),
}

/** Life of one segment with its constraints. Stream: segment-{namespace}+{key}. */
export const segmentEvents = {
  SegmentCreated: v1(
    object('A segment was created, without constraints yet.', {
      ...segment,
      generation: count("Which life of the namespace's key that is: 1 for the first."),
      name,
      description,
      matchType,
    }),
  ),
  SegmentUpdated: v1(
    object("The segment's own fields changed.", {
      ...segment,
      name: change(name),
      description: change(description),
      matchType: change(matchType),
    }),
  ),
  SegmentDeleted: v1(object('The segment was deleted with its constraints; no rule or rollout used it.', segment)),
  ConstraintAdded: v1(object('A constraint was added.', { ...segment, constraint: Constraint })),
  ConstraintUpdated: v1(
    object('A constraint changed.', {
      ...segment,
      constraint: object('The constraint, with what changed of it.', {
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
      'A rule or rollout is about to use the segment: a reservation, without which it may not. While it stands, the segment is in use (decision 3).',
      {
        ...segment,
        flag,
        reservation: uuid('The reservation, which the rule or rollout names.'),
        reservedAt: time('When it was made.'),
      },
    ),
  ),
  SegmentDetached: v1(
    object('A reservation ends: the rule or rollout uses the segment no longer, or never came to.', {
      ...segment,
      flag,
      reservation: uuid('The reservation that ends.'),
    }),
  ),
}

export type SegmentEvent = EventOf<typeof segmentEvents>
export type Constraint = Readonly<Static<typeof Constraint>>
export type MatchType = Static<typeof matchType>
