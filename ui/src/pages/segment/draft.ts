import type { Constraint, LoadedSegment } from '../../api/segments.ts'
import { type ComparisonType, operators } from '../../words/operators.ts'

/** A constraint as a person edits it. */
export type ConstraintDraft = {
  /** The id at the service, or what a new one is called until it has one. */
  readonly id: string
  readonly type: ComparisonType
  readonly property: string
  readonly operator: string
  /** One value, as the service takes it. */
  readonly value: string
  /** The values of an operator that takes a list. */
  readonly values: readonly string[]
  /** A date stands for a whole day. */
  readonly day: boolean
  readonly description: string
}

/** A segment as a person edits it; nothing of it is sent before it is saved. */
export type Draft = {
  readonly name: string
  readonly description: string
  readonly match: 'all' | 'any'
  readonly constraints: readonly ConstraintDraft[]
}

const lists = new Set(['isoneof', 'isnotoneof'])
const bare = new Set(['true', 'false', 'empty', 'notempty', 'present', 'notpresent'])

/** What a constraint is compared with. */
export type ValueKind = 'none' | 'list' | 'moment' | 'text'
export const kindOf = ({ type, operator }: Pick<ConstraintDraft, 'type' | 'operator'>): ValueKind => {
  if (bare.has(operator)) return 'none'
  if (lists.has(operator)) return 'list'
  return type === 'DATETIME_COMPARISON_TYPE' ? 'moment' : 'text'
}

/** The items of a stored list. Numbers are kept as they are written: a browser holds not every one of them exactly. */
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

/** The draft that changes nothing. */
export const draftOf = ({ segment: { name, description, matchType, constraints } }: LoadedSegment): Draft => ({
  name,
  description,
  match: matchType === 'ALL_MATCH_TYPE' ? 'all' : 'any',
  constraints: constraints.map(draftOfConstraint),
})

/** A constraint without values that its operator does not take. */
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

/** A constraint that is not saved yet, called as no other is. */
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

/** A constraint of another type: what the type does not know is taken back. */
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

/** A constraint with another operator; what was entered goes along from one value to several. */
export const withOperator = (constraint: ConstraintDraft, operator: string): ConstraintDraft => {
  const { value, values } = constraint
  const next = { ...constraint, operator }
  return kindOf(next) === 'list' && values.length === 0 && value !== '' ? { ...next, values: [value], value: '' } : next
}

/** The value that is sent. */
export const valueOf = (constraint: ConstraintDraft): string => {
  const { type, value, values } = settledConstraint(constraint)
  if (kindOf(constraint) !== 'list') return value
  return type === 'NUMBER_COMPARISON_TYPE' ? `[${values.join(',')}]` : JSON.stringify(values)
}
