import { invalid } from '../../base/errors.ts'
import { closingQuote } from '../../base/exact-json.ts'
import { named, type Shown, Text, times } from '../answer.ts'
import { text } from '../readers/fields.ts'
import { input } from '../readers/input.ts'
import type { Field } from '../readers/value.ts'
import { description } from '../resource.ts'

const MAX_BYTES = 1_024_000

/**
 * Removes insignificant white space from a JSON text, in linear time. Number forms, escapes, and repeated members and
 * their order stay unchanged.
 */
export const minified = (json: string): string => {
  const kept: string[] = []
  let from = 0
  for (let at = 0; at < json.length; at++) {
    const character = json[at]
    if (character === '"') at = closingQuote(json, at)
    else if (character === ' ' || character === '\n' || character === '\r' || character === '\t') {
      if (at > from) kept.push(json.slice(from, at))
      from = at + 1
    }
  }
  return from === 0 ? json : kept.join('') + json.slice(from)
}

/** Returns true for a JSON text. */
export const isJson = (given: string): boolean => {
  try {
    JSON.parse(given)
    return true
  } catch {
    return false
  }
}

const { schema, read } = text()

/** Attachment of a variant: JSON as text, at most 1000 KB as given, or `""` (api.md §7.3). */
export const attachment: Field<string> = {
  schema,
  optional: true,
  read: (value, name) => {
    const given = read(value, name)
    if (given === '') return ''
    if (!isJson(given)) invalid(name, 'must be a json string')
    return Buffer.byteLength(given) <= MAX_BYTES ? minified(given) : invalid(name, 'must be less than 1000 KB')
  },
}

/** A variant of a flag. The attachment of a variant is JSON as text (api.md §7.2). */
export const Variant = named('Variant', {
  id: Text,
  flagKey: Text,
  namespaceKey: Text,
  key: Text,
  name: Text,
  description: Text,
  attachment: Text,
  ...times,
})
export type Variant = Shown<typeof Variant>

export const variantFields = {
  key: text({ required: true, max: 255, control: false }),
  name: text({ max: 255 }),
  description,
  attachment,
}
/** Body that creates or replaces a variant. */
export const variantBody = input(variantFields, 'VariantBody')
