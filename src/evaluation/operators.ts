import type { ConstraintType } from './flag.ts'
import { normalDatetime, parseNumberList, parseTextList } from './values.ts'

/** The operators of each type of constraint (api.md §7.4). */
export const operators = {
  string: ['eq', 'neq', 'empty', 'notempty', 'prefix', 'suffix', 'isoneof', 'isnotoneof', 'contains', 'notcontains'],
  number: ['eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'present', 'notpresent', 'isoneof', 'isnotoneof'],
  boolean: ['true', 'false', 'present', 'notpresent'],
  datetime: ['eq', 'neq', 'lt', 'lte', 'gt', 'gte', 'present', 'notpresent'],
  entityId: ['eq', 'neq', 'isoneof', 'isnotoneof', 'contains', 'notcontains'],
} as const satisfies Readonly<Record<ConstraintType, readonly string[]>>

/** Operators without a value. The value of a constraint with such an operator is stored as `""`. */
export const valueless: ReadonlySet<string> = new Set(['true', 'false', 'empty', 'notempty', 'present', 'notpresent'])

const lists: ReadonlySet<string> = new Set(['isoneof', 'isnotoneof'])
const MAX_ITEMS = 100
const MAX_BYTES = 65_536

/** A constraint in the form to store, or the error: of one field, or a complete message for the client. */
type Checked =
  | { readonly kind: 'valid'; readonly operator: string; readonly value: string }
  | { readonly kind: 'field'; readonly field: 'property' | 'operator' | 'value'; readonly description: string }
  | { readonly kind: 'refused'; readonly message: string }

type Draft = {
  readonly type: ConstraintType | 'unknown'
  readonly property: string
  readonly operator: string
  readonly value: string
}

/**
 * Checks type, property, operator and value by api.md §7.3, in that order. Returns operator and value in the form to
 * store.
 */
export const checkConstraint = ({ type, property, operator: given, value }: Draft): Checked => {
  if (property === '') return field('property', 'must not be empty')
  if (given === '') return field('operator', 'must not be empty')
  if (type === 'unknown') return refused('invalid constraint type: "UNKNOWN_COMPARISON_TYPE"')
  const operator = given.toLowerCase()
  const allowed: readonly string[] = operators[type]
  if (!allowed.includes(operator)) return refused(`constraint operator "${given}" is not valid for type ${type}`)
  if (type === 'entityId' && property !== 'entityId') return refused(`property is ${property} instead of "entityId"`)
  if (valueless.has(operator)) return { kind: 'valid', operator, value: '' }
  if (value === '') return field('value', 'must not be empty')
  if (value.length > MAX_BYTES || new TextEncoder().encode(value).length > MAX_BYTES) {
    return field('value', `must be at most ${MAX_BYTES} bytes`)
  }
  if (lists.has(operator)) {
    const items = type === 'number' ? parseNumberList(value) : parseTextList(value)
    if (!items) return refused(`invalid value provided for property "${property}" of type ${type}`)
    if (items.length > MAX_ITEMS) {
      return refused(`too many values provided for property "${property}" of type ${type} (maximum ${MAX_ITEMS})`)
    }
  }
  const stored = type === 'datetime' ? normalDatetime(value) : value
  return stored === undefined ? refused(`parsing datetime from "${value}"`) : { kind: 'valid', operator, value: stored }
}

const field = (name: 'property' | 'operator' | 'value', description: string): Checked => ({
  kind: 'field',
  field: name,
  description,
})
const refused = (message: string): Checked => ({ kind: 'refused', message })
