import { invalid, refuse } from '../../base/errors.ts'
import type { constraintBody } from '../../contract/flags/segment.ts'
import type { ReadBy } from '../../contract/readers/input.ts'
import { checkConstraint } from '../../evaluation/operators.ts'

/** The constraint in its stored form; an invalid one is refused with 400 (api.md §7.3). */
export const checkedConstraint = (asked: ReadBy<typeof constraintBody>) => {
  const { type, property, description } = asked
  const found = checkConstraint(asked)
  if (found.kind === 'field') return invalid(found.field, found.description)
  if (found.kind === 'refused') return refuse('invalid_argument', found.message)
  // `checkConstraint` has refused an unknown type already; this check narrows the type.
  if (type === 'unknown') return refuse('invalid_argument')
  const { operator, value } = found
  return { type, property, operator, value, description }
}
