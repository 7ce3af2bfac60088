import { Type } from 'typebox'
import { invalid } from '../base/errors.ts'
import { exactText } from '../base/exact-json.ts'
import { absent, text } from './readers/fields.ts'
import { type Field, fitsBytes, objectOf, type Raw } from './readers/value.ts'

/** Properties of an entity. */
type Context = Readonly<Record<string, string>>

/** Maximum size in bytes (UTF-8) of the entity's id and of each value of its context. */
export const MOST_VALUE_BYTES = 65_536

/** Id of the evaluated entity. */
export const entityId = text({ stored: false, maxBytes: MOST_VALUE_BYTES })

/** Returns true if a value contains a bigint. Refuses a number out of the range of float64, with its place. */
const hasLarge = (value: unknown, name: string): boolean => {
  if (typeof value === 'number' && !Number.isFinite(value)) invalid(name, 'must not contain numbers out of range')
  if (typeof value !== 'object' || value === null) return typeof value === 'bigint'
  let large = false
  for (const [key, member] of Object.entries(value))
    if (hasLarge(member, Array.isArray(value) ? `${name}[${key}]` : `${name}.${key}`)) large = true
  return large
}

/**
 * Converts a value of a JSON context to text (api.md §10): a number to its shortest decimal text, a large integer to
 * its digits, null to `""`, an array or object to compact JSON. Refuses numbers out of range.
 */
export const contextText = (value: unknown, name = 'context'): string => {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  if (typeof value === 'boolean') return String(value)
  const large = hasLarge(value, name)
  if (typeof value === 'number' || typeof value === 'bigint') return String(value)
  return large ? exactText(value) : JSON.stringify(value)
}

/** Converts a JSON object to a context. Returns the same object if all values are text. */
export const contextOf = (parsed: Raw, name = 'context'): Context => {
  for (const property in parsed) {
    if (typeof parsed[property] === 'string') continue
    const context = Object.create(null) as Record<string, string>
    for (const key of Object.keys(parsed)) context[key] = contextText(parsed[key], `${name}.${key}`)
    return context
  }
  return parsed as Context
}

/** Maximum number of properties in the context of an entity. */
const MOST_CONTEXT_MEMBERS = 1000

/** Converts the values of a JSON object to text. Refuses too many properties and values that are too long. */
const contextGiven = (raw: Raw, name: string): Context => {
  let members = 0
  for (const _ in raw)
    if (++members > MOST_CONTEXT_MEMBERS) invalid(name, `must have at most ${MOST_CONTEXT_MEMBERS} members`)
  const context = contextOf(raw, name)
  for (const key in context) {
    if (!fitsBytes(context[key]!, MOST_VALUE_BYTES))
      invalid(`${name}.${key}`, `must be at most ${MOST_VALUE_BYTES} bytes`)
  }
  return context
}

/** Context of an entity: any JSON object, with its values as text; absent is `{}`. `noObject` refuses other values. */
export const contextField = (noObject: (value: unknown, name: string) => Raw): Field<Context> => ({
  schema: Type.Object({}, { additionalProperties: true, maxProperties: MOST_CONTEXT_MEMBERS }),
  optional: true,
  read: (value, name) =>
    absent(value)
      ? {}
      : contextGiven(typeof value === 'object' && !Array.isArray(value) ? (value as Raw) : noObject(value, name), name),
})

export const context = contextField(objectOf)
