import type { Constraint, LoadedSegment } from '../../api/segments.ts'
import { type ComparisonType, operators } from '../../words/operators.ts'

/** Draft of a constraint. */
export type ConstraintDraft = {
  /** Id of the service; temporary for a new constraint. */
  readonly id: string
  readonly type: ComparisonType
  readonly property: string
  readonly operator: string
  /** Single value in the format of the API. */
  readonly value: string
  /** Values of an operator that takes a list. */
  readonly values: readonly string[]
  /** Whether a date means the whole day. */
  readonly day: boolean
  readonly description: string
}

/** Draft of a segment. */
export type Draft = {
  readonly name: string
  readonly description: string
  readonly match: 'all' | 'any'
  readonly constraints: readonly ConstraintDraft[]
}

const lists = new Set(['isoneof', 'isnotoneof'])
const bare = new Set(['true', 'false', 'empty', 'notempty', 'present', 'notpresent'])

/** Kind of value that a constraint compares with. */
type ValueKind = 'none' | 'list' | 'moment' | 'text'
export const kindOf = ({ type, operator }: Pick<ConstraintDraft, 'type' | 'operator'>): ValueKind => {
  if (bare.has(operator)) return 'none'
  if (lists.has(operator)) return 'list'
  return type === 'DATETIME_COMPARISON_TYPE' ? 'moment' : 'text'
}

/** Parses a stored list. Numbers stay as written, because a browser cannot represent all of them exactly. */
const itemsOf = (type: ComparisonType, text: string): readonly string[] => {
  if (type === 'NUMBER_COMPARISON_TYPE') {
    const inner = text.trim().replace(/^\[|\]$/g, '')
    const items = inner.split(',').map((item) => item.trim())
    return text.trim() === 'null' || inner.trim() === '' ? [] : items.map((item) => (item === 'null' ? '0' : item))
  }
  const items: unknown = JSON.parse(text)
  return Array.isArray(items) ? items.map((item: unknown) => (typeof item === 'string' ? item : '')) : []
}

const isDay = (value: string): boolean => /^\d{4}-\d{2}-\d{2}$/.test(value)

const draftOfConstraint = ({ id, type, property, operator, value, description }: Constraint): ConstraintDraft => {
  const kind = kindOf({ type, operator })
  const list = kind === 'list'
  return {
    id,
    type,
    property,
    operator,
    value: list || kind === 'none' ? '' : value,
    values: list ? [...new Set(itemsOf(type, value))] : [],
    day: kind === 'moment' && isDay(value),
    description,
  }
}

/** Creates the draft without changes. */
export const draftOf = ({ segment: { name, description, matchType, constraints } }: LoadedSegment): Draft => ({
  name,
  description,
  match: matchType === 'ALL_MATCH_TYPE' ? 'all' : 'any',
  constraints: constraints.map(draftOfConstraint),
})

/** Removes the values that the operator does not take. */
const settledConstraint = (constraint: ConstraintDraft): ConstraintDraft => {
  const { value, values, day } = constraint
  const kind = kindOf(constraint)
  return {
    ...constraint,
    value: kind === 'text' || kind === 'moment' ? value : '',
    values: kind === 'list' ? values : [],
    day: kind === 'moment' && day,
  }
}

export const settled = (draft: Draft): Draft => ({ ...draft, constraints: draft.constraints.map(settledConstraint) })

/** Creates a new constraint with a temporary unique id. */
export const freshConstraint = (n: number): ConstraintDraft => ({
  id: `new-${n}`,
  type: 'STRING_COMPARISON_TYPE',
  property: '',
  operator: 'eq',
  value: '',
  values: [],
  day: false,
  description: '',
})

const ENTITY = 'entityId'

/** Changes the type; resets what the new type does not support. */
export const withType = (constraint: ConstraintDraft, type: ComparisonType): ConstraintDraft => {
  const { property, operator } = constraint
  const [first = ''] = Object.keys(operators[type])
  const next = operator in operators[type] ? operator : first
  const moment = 'DATETIME_COMPARISON_TYPE'
  const other = (type === moment) !== (constraint.type === moment)
  return {
    ...constraint,
    type,
    operator: next,
    property: type === 'ENTITY_ID_COMPARISON_TYPE' ? ENTITY : property === ENTITY ? '' : property,
    ...(other && { value: '', day: false }),
  }
}

/** Changes the operator; a single value becomes the first item of a list. */
export const withOperator = (constraint: ConstraintDraft, operator: string): ConstraintDraft => {
  const { value, values } = constraint
  const next = { ...constraint, operator }
  return kindOf(next) === 'list' && values.length === 0 && value !== '' ? { ...next, values: [value], value: '' } : next
}

/** Value in the format of the API. */
export const valueOf = (constraint: ConstraintDraft): string => {
  const { type, value, values } = settledConstraint(constraint)
  if (kindOf(constraint) !== 'list') return value
  return type === 'NUMBER_COMPARISON_TYPE' ? `[${values.join(',')}]` : JSON.stringify(values)
}
