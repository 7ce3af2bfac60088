import { Type } from 'typebox'
import { invalid } from '../../base/errors.ts'
import {
  type Field,
  fits,
  fitsBytes,
  type Input,
  instantOf,
  malformed,
  numberOf,
  objectOf,
  type Raw,
  settle,
  storable,
  textOf,
} from './value.ts'

/** Returns true for undefined and null. */
export const absent = (value: unknown): value is undefined | null => value === undefined || value === null

type TextRules = {
  readonly required?: boolean
  /** Maximum length in Unicode code points, and in bytes of UTF-8. */
  readonly max?: number
  readonly maxBytes?: number
  readonly trim?: boolean
  readonly pattern?: { readonly test: (text: string) => boolean; readonly message: string }
  /** If false, control characters are refused. */
  readonly control?: false
  /** If false, the text is not stored, so NUL and unpaired surrogates are allowed. */
  readonly stored?: false
}

/** Text; absent is `""`. Lengths count Unicode code points. */
export const text = ({
  required = false,
  max,
  maxBytes,
  trim = false,
  pattern,
  control,
  stored,
}: TextRules = {}): Field<string> => ({
  schema: Type.String({ ...(required ? { minLength: 1 } : {}), ...(max === undefined ? {} : { maxLength: max }) }),
  optional: !required,
  read: (value, name) => {
    const given = absent(value) ? '' : textOf(value, name)
    const text = trim ? given.trim() : given
    if (text === '') return required ? invalid(name, 'must not be empty') : ''
    if (stored !== false) storable(text, name, control === undefined)
    if (max !== undefined && !fits(text, max)) invalid(name, `must be at most ${max} characters`)
    if (maxBytes !== undefined && !fitsBytes(text, maxBytes)) invalid(name, `must be at most ${maxBytes} bytes`)
    if (pattern && !pattern.test(text)) invalid(name, pattern.message)
    return text
  },
})

const queryFlags: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** Boolean; absent is false. */
export const flag = (): Field<boolean> => ({
  schema: Type.Boolean(),
  optional: true,
  read: (value, name) =>
    absent(value) ? false : typeof value === 'boolean' ? value : malformed(name, 'true or false'),
  query: (text, name) => queryFlags.get(text) ?? invalid(name, 'must be true or false'),
})

/** Field with an int32, as JSON number or as text. An absent field has the value 0, to which `min` does not apply. */
export const integer = ({
  min,
  minMessage,
}: {
  readonly min?: number
  readonly minMessage?: string
} = {}): Field<number> => ({
  schema: Type.Integer({ format: 'int32', ...(min === undefined ? {} : { minimum: min }) }),
  optional: true,
  read: (value, name) => {
    if (absent(value)) return 0
    const number = numberOf(value, name, 'must be an integer')
    if (number !== (number | 0)) invalid(name, 'must be an integer')
    if (min !== undefined && number < min) invalid(name, minMessage ?? `must be at least ${min}`)
    return number | 0
  },
})

/**
 * Field with a float32, as JSON number or as text; other numbers are rounded to the nearest float32. An absent field
 * has the value 0.
 */
export const float = (): Field<number> => ({
  schema: Type.Number({ format: 'float' }),
  optional: true,
  read: (value, name) => {
    const number = absent(value) ? 0 : Math.fround(numberOf(value, name, 'must be a number'))
    return Number.isFinite(number) ? number : invalid(name, 'must be a finite number')
  },
})

/** One of the names, given by exact name or by number; absent is `byDefault`, or refused without it. */
export const choice = <const E extends Readonly<Record<string, number>>>(
  options: E,
  byDefault?: keyof E & string,
): Field<keyof E & string> => {
  type Name = keyof E & string
  const names = Object.keys(options) as Name[]
  const known = new Map<unknown, Name>(
    names.flatMap((name) => [name, options[name], String(options[name])].map((key) => [key, name])),
  )
  return {
    schema: Type.Enum(names, byDefault === undefined ? {} : { default: byDefault }),
    optional: byDefault !== undefined,
    read: (value, name) => {
      if (absent(value)) return byDefault ?? invalid(name, 'must not be empty')
      if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
        return malformed(name, 'a name or a number')
      return known.get(value) ?? invalid(name, `unknown value "${value}"`)
    },
  }
}

/**
 * A timestamp (RFC 3339, any offset), converted to UTC text with milliseconds; further digits are truncated. Refuses an
 * absent one, unless wrapped in `optional`.
 */
export const timestamp = (): Field<string> => ({
  schema: Type.String({ format: 'date-time' }),
  read: (value, name) =>
    absent(value)
      ? invalid(name, 'must not be empty')
      : (instantOf(textOf(value, name)) ?? invalid(name, 'must be an RFC 3339 timestamp')),
})

type ListRules = { readonly min?: number; readonly max?: number }

/** A list; absent is `[]`. Messages name the items `list[0]`, `list[1]`… */
export const list = <T>(item: Field<T>, { min = 0, max = Infinity }: ListRules = {}): Field<readonly T[]> => ({
  schema: Type.Array(item.schema),
  optional: min === 0,
  read: (value, name) => {
    const given: readonly unknown[] = absent(value) ? [] : Array.isArray(value) ? value : malformed(name, 'a list')
    if (given.length > max) invalid(name, `must contain at most ${max} elements`)
    let wrong: Error | undefined
    const read: T[] = []
    for (const [n, value] of given.entries()) {
      try {
        read.push(item.read(value, `${name}[${n}]`))
      } catch (error) {
        wrong = settle(error, wrong)
      }
    }
    if (wrong) throw wrong
    return given.length < min ? invalid(name, `must contain atleast ${min} elements`) : read
  },
})

/**
 * A nested object. Messages name its fields `outer.inner`. Refuses an absent field, unless the field is wrapped in
 * `optional`.
 */
export const object = <T>(members: Input<T>): Field<T> => ({
  schema: members.schema,
  read: (value, name) =>
    absent(value) ? invalid(name, 'must not be empty') : members.read(objectOf(value, name), name),
})

/** Any JSON object, passed through unchanged; absent is `{}`. */
export const anyObject = (): Field<Raw> => ({
  schema: Type.Object({}, { additionalProperties: true }),
  optional: true,
  read: (value, name) => (absent(value) ? {} : objectOf(value, name)),
})

/** Makes a field optional: undefined if absent. */
export const optional = <T>({ schema, read, query }: Field<T>): Field<T | undefined> => ({
  schema,
  optional: true,
  read: (value, name) => (absent(value) ? undefined : read(value, name)),
  ...(query ? { query } : {}),
})

/**
 * Enum with its internal names and its names on the wire, numbered from 0 in this order. The field accepts the wire
 * name or number, and returns the internal name.
 */
const enumOf = <const W extends Readonly<Record<string, string>>>(wire: W) => {
  type Word = keyof W & string
  const words = new Map<string, Word>(Object.entries(wire).map(([word, name]) => [name, word]))
  const numbers = Object.fromEntries([...words.keys()].map((name, number) => [name, number]))
  return {
    wire,
    names: [...words.keys()] as W[Word][],
    /** If the field is absent, it has the value `byDefault`. */
    field: (byDefault: Word): Field<Word> => {
      const { schema, read } = choice(numbers, wire[byDefault])
      return { schema, optional: true, read: (value, name) => words.get(read(value, name))! }
    },
  }
}

/** Enums of the flag API (api.md §7.2). */
export const flagTypes = enumOf({ variant: 'VARIANT_FLAG_TYPE', boolean: 'BOOLEAN_FLAG_TYPE' })
export const matchTypes = enumOf({ all: 'ALL_MATCH_TYPE', any: 'ANY_MATCH_TYPE' })
export const segmentOperators = enumOf({ or: 'OR_SEGMENT_OPERATOR', and: 'AND_SEGMENT_OPERATOR' })
export const rolloutTypes = enumOf({
  unknown: 'UNKNOWN_ROLLOUT_TYPE',
  segment: 'SEGMENT_ROLLOUT_TYPE',
  threshold: 'THRESHOLD_ROLLOUT_TYPE',
})
export const comparisonTypes = enumOf({
  unknown: 'UNKNOWN_COMPARISON_TYPE',
  string: 'STRING_COMPARISON_TYPE',
  number: 'NUMBER_COMPARISON_TYPE',
  boolean: 'BOOLEAN_COMPARISON_TYPE',
  datetime: 'DATETIME_COMPARISON_TYPE',
  entityId: 'ENTITY_ID_COMPARISON_TYPE',
})
