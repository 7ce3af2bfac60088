import { Type } from 'typebox'
import { named, type Shown, Text, times } from '../answer.ts'
import { comparisonTypes } from '../enums.ts'
import { text } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import { description } from '../resource.ts'

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

export const constraintFields = {
  type: comparisonTypes.field('unknown'),
  property: text({ required: true, max: 255 }),
  operator: text({ required: true }),
  value: text(),
  description,
}
/** Body that creates or replaces a constraint. */
export const constraintBody = input(constraintFields, 'ConstraintBody')
