import fc from 'fast-check'
import type { AnyEvent, Shapes } from '../src/events/define.ts'

type Schema = {
  readonly type?: string
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly patternProperties?: Readonly<Record<string, Schema>>
}

/** Few texts, so that generated values collide. */
const text = fc.constantFrom('', 'a', 'b', '__proto__', '2026-01-01T00:00:00.000Z')

const values: Readonly<Record<string, (schema: Schema) => fc.Arbitrary<unknown>>> = {
  string: () => text,
  boolean: () => fc.boolean(),
  integer: () => fc.nat(5),
  number: () => fc.constantFrom(0, 12.5, 33.33, 50, 100),
  array: ({ items = {} }) => fc.array(valueOf(items), { maxLength: 3 }),
  object: ({ properties, required = [], patternProperties }) =>
    properties
      ? fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueOf(schema)])), {
          requiredKeys: [...required],
        })
      : fc.dictionary(text, valueOf(Object.values(patternProperties ?? {})[0] ?? {}), { maxKeys: 2 }),
}

/** Arbitrary values of a JSON schema. */
const valueOf = (schema: Schema): fc.Arbitrary<unknown> => {
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valueOf))
  return values[schema.type ?? '']?.(schema) ?? fc.jsonValue({ maxDepth: 1 })
}

/** Arbitrary events of a category in their newest shapes, independent of any history. */
export const anyEvent = <E extends AnyEvent>(shapes: Shapes): fc.Arbitrary<E> =>
  fc.oneof(
    ...Object.entries(shapes).map(([type, { schema }]) =>
      valueOf(schema as unknown as Schema).map((data) => ({ type, data })),
    ),
  ) as unknown as fc.Arbitrary<E>
