import type { constraintBody } from '../../contract/constraint.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { invalid, refuse } from '../../errors.ts'
import { checkConstraint } from '../../evaluation/operators.ts'

/** The constraint in the form it is stored in, or 400 with what is wrong (api.md §7.3). */
export const checkedConstraint = (asked: ReadBy<typeof constraintBody>) => {
  const { type, property, description } = asked
  const found = checkConstraint(asked)
  if (found.kind === 'field') return invalid(found.field, found.description)
  if (found.kind === 'refused') return refuse('invalid_argument', found.message)
  // An unknown type was refused with the sentence of the check.
  if (type === 'unknown') return refuse('invalid_argument')
  const { operator, value } = found
  return { type, property, operator, value, description }
}
