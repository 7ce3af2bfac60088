import { Type } from 'typebox'
import { invalid } from '../errors.ts'
import type { Field } from './readers/field.ts'
import { absent, text } from './readers/fields.ts'
import { fitsBytes, objectOf, type Raw } from './readers/value.ts'

/** What is known of an entity. */
type Context = Readonly<Record<string, string>>

/** Bytes in UTF-8 that the entity's id, and each value of its context, may have. */
export const MOST_VALUE_BYTES = 65_536

/** Id of the entity asked about. */
export const entityId = text({ stored: false, maxBytes: MOST_VALUE_BYTES })

/** A member of a JSON context as text (api.md §10): number in its shortest decimal text, boolean, null as `""`, array or object as compact JSON. */
export const contextText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return ''
  return typeof value === 'number' ? String(value) : JSON.stringify(value)
}

/** A parsed JSON object as a context. One that holds only text is returned as it is. */
export const contextOf = (parsed: Raw): Context => {
  for (const name in parsed) {
    if (typeof parsed[name] === 'string') continue
    const context = Object.create(null) as Record<string, string>
    for (const key of Object.keys(parsed)) context[key] = contextText(parsed[key])
    return context
  }
  return parsed as Context
}

/** Members that the context of an entity may have. */
const MOST_CONTEXT_MEMBERS = 1000

/** The members of a JSON object as text; refuses too many, and a value that is too long. */
const contextGiven = (raw: Raw, name: string): Context => {
  let members = 0
  for (const _ in raw)
    if (++members > MOST_CONTEXT_MEMBERS) invalid(name, `must have at most ${MOST_CONTEXT_MEMBERS} members`)
  const context = contextOf(raw)
  for (const key in context) {
    if (!fitsBytes(context[key]!, MOST_VALUE_BYTES))
      invalid(`${name}.${key}`, `must be at most ${MOST_VALUE_BYTES} bytes`)
  }
  return context
}

/** What is known of the entity: any JSON object, its values as text; absent is `{}`. `noObject` refuses anything else. */
export const contextField = (noObject: (value: unknown, name: string) => Raw): Field<Context> => ({
  schema: Type.Object({}, { additionalProperties: true, maxProperties: MOST_CONTEXT_MEMBERS }),
  optional: true,
  read: (value, name) =>
    absent(value)
      ? {}
      : contextGiven(typeof value === 'object' && !Array.isArray(value) ? (value as Raw) : noObject(value, name), name),
})

export const context = contextField(objectOf)
