import type { Field } from './readers/field.ts'
import { choice } from './readers/fields.ts'

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
