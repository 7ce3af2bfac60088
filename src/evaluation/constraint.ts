import type { ConstraintInput, ConstraintType } from './flag.ts'
import type { operators } from './operators.ts'
import { compareInstants, parseDatetime, parseNumber, parseNumberList, parseTextList } from './values.ts'

/** Cache of parsed forms of one long value, by parser. */
export type Readings = Map<(text: string) => unknown, unknown>

/** Returns the parsed form of a long value, parsed once for all constraints. */
const readOnce = <T>(read: (text: string) => T, value: string, readings: Readings): T => {
  if (!readings.has(read)) readings.set(read, read(value))
  return readings.get(read) as T
}

/** Unicode White_Space. Differs from `String.prototype.trim`, which removes U+FEFF but not U+0085. */
const isSpace = (unit: number): boolean =>
  unit < 128
    ? unit === 32 || (unit >= 9 && unit <= 13)
    : unit === 0x85 ||
      unit === 0xa0 ||
      unit === 0x1680 ||
      (unit >= 0x2000 && unit <= 0x200a) ||
      unit === 0x2028 ||
      unit === 0x2029 ||
      unit === 0x202f ||
      unit === 0x205f ||
      unit === 0x3000

/** Removes Unicode White_Space at both ends. */
export const trim = (text: string): string => {
  let [start, end] = [0, text.length]
  while (start < end && isSpace(text.charCodeAt(start))) start++
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

const SHORT = 32

/**
 * Returns a substring test in linear time. The builtin search is quadratic on crafted texts, so it is used only for
 * short parts. Longer parts use the Knuth-Morris-Pratt algorithm.
 */
export const finder = (part: string): ((text: string) => boolean) => {
  if (part.length <= SHORT) return (text) => text.includes(part)
  const units = new Uint16Array(part.length)
  for (let n = 0; n < part.length; n++) units[n] = part.charCodeAt(n)
  // fallback[n]: length of the longest proper prefix of part that is a suffix of part[0..n].
  const fallback = new Uint32Array(part.length)
  for (let n = 1, length = 0; n < part.length; n++) {
    while (length > 0 && units[length] !== units[n]) length = fallback[length - 1] as number
    if (units[length] === units[n]) length++
    fallback[n] = length
  }

  // The step is repeated here, because a function call makes it four times slower.
  return (text) => {
    for (let n = 0, length = 0; n < text.length; n++) {
      const unit = text.charCodeAt(n)
      while (length > 0 && units[length] !== unit) length = fallback[length - 1] as number
      if (units[length] === unit && ++length === part.length) return true
    }
    return false
  }
}

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
