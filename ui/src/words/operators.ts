import type { Constraint } from '../../../src/contract/flags/segment.ts'

export type ComparisonType = Constraint['type']

const is = { eq: 'is', neq: 'is not' }
const oneOf = { isoneof: 'is one of', isnotoneof: 'is none of' }
const there = { present: 'is there', notpresent: 'is not there' }
const containing = { contains: 'contains', notcontains: 'does not contain' }

/** Operators by constraint type, in the order of the select box. */
export const operators: Readonly<Record<ComparisonType, Readonly<Record<string, string>>>> = {
  STRING_COMPARISON_TYPE: {
    ...is,
    empty: 'is empty',
    notempty: 'is not empty',
    prefix: 'begins with',
    suffix: 'ends with',
    ...containing,
    ...oneOf,
  },
  NUMBER_COMPARISON_TYPE: {
    ...is,
    ...oneOf,
    lt: 'is less than',
    lte: 'is at most',
    gt: 'is greater than',
    gte: 'is at least',
    ...there,
  },
  BOOLEAN_COMPARISON_TYPE: { true: 'is true', false: 'is false', ...there },
  DATETIME_COMPARISON_TYPE: {
    ...is,
    lt: 'is before',
    lte: 'is at or before',
    gt: 'is after',
    gte: 'is at or after',
    ...there,
  },
  ENTITY_ID_COMPARISON_TYPE: { ...is, ...containing, ...oneOf },
  UNKNOWN_COMPARISON_TYPE: {},
}

/** Text of an operator, for example `is one of`; an unknown operator stays as it is. */
export const operatorWords = (type: ComparisonType, operator: string): string => operators[type][operator] ?? operator
