import type { TEnum, TLiteral, TRecord, TSchema, TSchemaOptions, TString, Type as TypeBox } from 'typebox'

export type { Static, TObject, TProperties, TSchema } from 'typebox'

type Plain =
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
type Builder = Pick<typeof TypeBox, Plain> & {
  readonly Enum: <V extends string[]>(words: readonly [...V], options?: TSchemaOptions) => TEnum<V>
  readonly Literal: <V extends string>(word: V, options?: TSchemaOptions) => TLiteral<V>
  readonly Record: <V extends TSchema>(key: TString, value: V, options?: TSchemaOptions) => TRecord<'^.*$', V>
}

/** Schemas of members that an object may be without. */
const optional = new WeakSet<object>()

const simple = (type: string) => (options?: object) => ({ type, ...options })

/**
 * Makes JSON Schemas that carry the type of what they describe. Form and types are TypeBox's, as far as they are used here; only its own
 * builder is not, which takes longer to load than the rest of the service (docs/decisions/0014).
 */
export const Type = {
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Boolean: simple('boolean'),
  Enum: (words: readonly string[], options?: object) => ({ enum: words, ...options }),
  Integer: simple('integer'),
  Literal: (word: string, options?: object) => ({ type: 'string', const: word, ...options }),
  Number: simple('number'),
  Object: (properties: Readonly<Record<string, object>>, options?: object) => {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
  },
  Optional: (schema: object) => {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Record: (_: object, value: object, options?: object) => ({
    type: 'object',
    patternProperties: { '^.*$': value },
    ...options,
  }),
  String: simple('string'),
  Union: (anyOf: readonly object[], options?: object) => ({ anyOf, ...options }),
  Unknown: (options?: object) => ({ ...options }),
  Unsafe: (schema: object) => schema,
} as unknown as Builder
