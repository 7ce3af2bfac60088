import { Type } from 'typebox'
import { changedFields, named, pageFields, type Shown, Text, TextMap, times } from '../answer.ts'
import { context, entityId } from '../entity.ts'
import { type ChangeOf, changesOf, id, kind, partly, ref } from '../readers/changes.ts'
import { choice, comparisonTypes, list, matchTypes, object, optional, text } from '../readers/fields.ts'
import { input, query, type ReadOf } from '../readers/input.ts'
import { description, key, name, searched } from '../resource.ts'

/** A constraint of a segment (api.md §7.2). */
export const Constraint = named('Constraint', {
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
export type Constraint = Shown<typeof Constraint>

const constraintFields = {
  type: comparisonTypes.field('unknown'),
  property: text({ required: true, max: 255 }),
  operator: text({ required: true }),
  value: text(),
  description,
}
/** Body that creates or replaces a constraint. */
export const constraintBody = input(constraintFields, 'ConstraintBody')

/** A segment with its constraints (api.md §7.2). */
export const Segment = named('Segment', {
  key: Text,
  namespaceKey: Text,
  name: Text,
  description: Text,
  matchType: Type.Enum(matchTypes.names),
  constraints: Type.Array(Constraint),
  ...times,
})
export type Segment = Shown<typeof Segment>
/**
 * A segment in a list. With `include=usage` the item also contains the number of flags that use the segment, and the
 * last change of the segment.
 */
export const ListedSegment = named('ListedSegment', {
  ...Segment.properties,
  ...changedFields,
  usageCount: Type.Optional(Type.Integer()),
})
export type ListedSegment = Shown<typeof ListedSegment>
export const SegmentList = named('SegmentList', { segments: Type.Array(ListedSegment), ...pageFields })

const segmentOwnFields = { name, description, matchType: matchTypes.field('all') }
/** Bodies that create and replace a segment. */
export const newSegment = input({ key, ...segmentOwnFields }, 'NewSegment')
export const segmentUpdate = input(segmentOwnFields, 'SegmentUpdate')

/** Query of the list of segments (api.md §7.7). */
export const segmentQuery = query({ ...searched, include: optional(choice({ usage: 0 })) })

/** Maximum number of constraints in one request. */
const MOST = 1000

/** An entity, and the match type and constraints to test in place of the stored ones (api.md §7.10). */
export const segmentMatchBody = input(
  {
    entityId,
    context,
    matchType: optional(matchTypes.field('all')),
    constraints: optional(list(object(constraintBody), { max: MOST })),
  },
  'SegmentMatchBody',
)

/** Whether an entity is in a segment, and which constraints match it. `never`: no entity can match the constraint. */
export const SegmentMatch = named('SegmentMatch', {
  matched: Type.Boolean(),
  constraints: Type.Array(Type.Object({ matched: Type.Boolean(), never: Type.Optional(Type.Boolean()) })),
})
export type SegmentMatch = Shown<typeof SegmentMatch>

type ConstraintRead = ReadOf<typeof constraintFields>

const kindsOf = <T>(check: (read: ConstraintRead) => T) => ({
  'segment.update': kind(partly(segmentOwnFields)),
  'constraint.create': kind({ ref, ...constraintFields }, ({ ref, ...read }) => ({ ref, constraint: check(read) })),
  'constraint.update': kind({ id, ...partly(constraintFields) }),
  'constraint.delete': kind({ id }),
})

/**
 * Changes of a segment and its constraints. Absent fields of an update stay unchanged (api.md §7.9). `check` refuses an
 * invalid new constraint.
 */
export const segmentChanges = <T>(check: (read: ConstraintRead) => T) => changesOf(kindsOf(check), 'SegmentChange')
export type SegmentChangeAsked<T> = ChangeOf<ReturnType<typeof kindsOf<T>>>

/**
 * The segment after the changes, and the id of each constraint that was created with a reference. A dry run adds the
 * present revision, and the matches of its entity.
 */
export const ChangedSegment = named('ChangedSegment', {
  segment: Segment,
  refs: TextMap,
  revision: Type.Optional(Text),
  evaluations: Type.Optional(named('TrialMatches', { present: SegmentMatch, changed: SegmentMatch })),
})
export type ChangedSegment = Shown<typeof ChangedSegment>
