import { Type } from 'typebox'
import { named, type Shown } from '../answer.ts'
import { context, entityId } from '../entity.ts'
import { matchTypes } from '../enums.ts'
import { list, object, optional } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import { constraintBody } from './constraint.ts'

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
