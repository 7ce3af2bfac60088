import { Type } from 'typebox'
import { invalid } from '../base/errors.ts'
import type { Names } from './identifiers.ts'
import { absent } from './readers/fields.ts'
import { define, type Field, fits, objectOf, storable, textOf } from './readers/value.ts'

type TextsRules = {
  readonly maxEntries?: number
  readonly maxKey?: number
  readonly maxValue?: number
  /** Returns the error in a key; undefined if it is valid. */
  readonly key?: (key: string) => string | undefined
  /** If false, the texts are not stored, so NUL and unpaired surrogates are allowed. */
  readonly stored?: false
}

/**
 * Map from text to text; absent is `{}`, a null value is `""`. Lengths count code points. An empty key is refused if
 * `maxKey` is set.
 */
export const texts = ({
  maxEntries = Infinity,
  maxKey,
  maxValue,
  key: check,
  stored,
}: TextsRules = {}): Field<Readonly<Record<string, string>>> => ({
  schema: Type.Record(Type.String(), Type.String()),
  optional: true,
  read: (value, name) => {
    if (absent(value)) return {}
    const given = objectOf(value, name)
    const keys = Object.keys(given)
    const read: Record<string, string> = {}
    for (const key of keys) define(read, key, absent(given[key]) ? '' : textOf(given[key], `${name}.${key}`))
    if (keys.length > maxEntries) invalid(name, `must have at most ${maxEntries} entries`)
    for (const key of keys) {
      const value = read[key]!
      if (stored !== false) {
        storable(key, name, true)
        storable(value, name, true)
      }
      if (maxKey !== undefined && !(key.length > 0 && fits(key, maxKey)))
        invalid(name, `keys must be 1 to ${maxKey} characters`)
      if (maxValue !== undefined && !fits(value, maxValue))
        invalid(name, `values must be at most ${maxValue} characters`)
      const wrong = check?.(key)
      if (wrong !== undefined) invalid(name, wrong)
    }
    return read
  },
})

/**
 * Metadata of a token in addition to the service's own (api.md §5.4 A7), from its creator or from the configuration of
 * the first token.
 */
export const tokenMetadata = ({ isReserved }: Pick<Names, 'isReserved'>): Field<Readonly<Record<string, string>>> =>
  texts({
    maxEntries: 32,
    maxKey: 128,
    maxValue: 1024,
    key: (key) => (isReserved(key) ? `key "${key}" is reserved` : undefined),
  })
