import { compareInstants, parseDatetime } from './datetime.ts'
import type { ConstraintInput, ConstraintType } from './flag.ts'
import { parseNumberList, parseTextList } from './list.ts'
import { parseNumber } from './number.ts'
import type { operators } from './operators.ts'
import { type Readings, readOnce } from './readings.ts'
import { finder, trim } from './text.ts'

/** A compiled constraint with its source. If `property` is undefined, it tests the entity's id. */
export type Constraint = {
  readonly of: ConstraintInput
  readonly property: string | undefined
  readonly holds: Test
}

/** `readings`: parsed forms of a long value, shared between constraints. */
type Test = (value: string, readings?: Readings) => boolean
/** Operators by name. */
type Operators<Name extends string = string> = Readonly<Record<Name, (of: string) => Test>>

const never: Test = () => false
const trimmed = (value: string, readings?: Readings): string =>
  readings ? readOnce(trim, value, readings) : trim(value)
const present: Test = (value, readings) => trimmed(value, readings) !== ''
const absent: Test = (value, readings) => trimmed(value, readings) === ''

const text = (operator: (of: string) => Test) => (of: string) => {
  const test = operator(of)
  if (test === never) return never
  return (value: string, readings?: Readings) => value !== '' && test(value, readings)
}

const oneOf = <T>(
  read: (value: string) => T | undefined,
  list: (of: string) => readonly T[] | undefined,
  wanted: boolean,
) => {
  return (of: string): Test => {
    const items = list(of)
    if (!items || (wanted && items.length === 0)) return never
    const set = new Set(items)
    return (value, readings) => {
      const item = readings ? readOnce(read, value, readings) : read(value)
      return item !== undefined && set.has(item) === wanted
    }
  }
}

const strings = {
  empty: () => absent,
  notempty: () => present,
  eq: text((of) => (of === '' ? never : (value) => value === of)),
  neq: text((of) => (value) => value !== of),
  prefix: text((of) => (value, readings) => trimmed(value, readings).startsWith(of)),
  suffix: text((of) => (value, readings) => trimmed(value, readings).endsWith(of)),
  contains: text(finder),
  notcontains: text((of) => {
    const contains = finder(of)
    return (value) => !contains(value)
  }),
  isoneof: text(oneOf((value) => value, parseTextList, true)),
  isnotoneof: text(oneOf((value) => value, parseTextList, false)),
} satisfies Operators

const comparisons = {
  eq: (one, other) => one === other,
  neq: (one, other) => one !== other,
  lt: (one, other) => one < other,
  lte: (one, other) => one <= other,
  gt: (one, other) => one > other,
  gte: (one, other) => one >= other,
} satisfies Readonly<Record<string, (one: number | bigint, other: number | bigint) => boolean>>

/** Comparison operators on values parsed by `read`. A value that cannot be parsed never matches. */
const ordered = <T>(
  read: (value: string) => T | undefined,
  compare: (one: T, other: T, by: (a: number | bigint, b: number | bigint) => boolean) => boolean,
) =>
  Object.fromEntries(
    Object.entries(comparisons).map(([operator, by]) => [
      operator,
      (of: string): Test => {
        const other = read(of)
        if (other === undefined) return never
        return (value, readings) => {
          const one = readings ? readOnce(read, value, readings) : read(value)
          return one !== undefined && compare(one, other, by)
        }
      },
    ]),
  ) as Operators<keyof typeof comparisons>

const truths: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const falsehoods: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False'])

const presence = { present: () => present, notpresent: () => absent } satisfies Operators

/** Tests by type and operator (api.md §8.4). */
const tests: { readonly [Type in ConstraintType]: Operators<(typeof operators)[Type][number]> } = {
  string: strings,
  entityId: strings,
  number: {
    ...presence,
    ...ordered(parseNumber, (one, other, by) => by(one, other)),
    isoneof: oneOf(parseNumber, parseNumberList, true),
    isnotoneof: oneOf(parseNumber, parseNumberList, false),
  },
  boolean: {
    ...presence,
    true: () => (value) => truths.has(value),
    false: () => (value) => falsehoods.has(value),
  },
  datetime: { ...presence, ...ordered(parseDatetime, (one, other, by) => by(compareInstants(one, other), 0)) },
}

/** Compiles a constraint; undefined if its type is unknown. An operator that the type does not have never matches. */
export const compileConstraint = (of: ConstraintInput): Constraint | undefined => {
  const { type, property, operator, value } = of
  if (!Object.hasOwn(tests, type)) return undefined
  const known: Operators = tests[type as ConstraintType]
  const holds = Object.hasOwn(known, operator) ? known[operator]!(value) : never
  return { of, property: type === 'entityId' ? undefined : property, holds }
}

/** Whether a constraint matches no value, because its own value or operator does not fit its type. */
export const isNever = ({ holds }: Pick<Constraint, 'holds'>): boolean => holds === never
