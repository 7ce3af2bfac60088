import t from 'tap'
import { Type as TypeBox } from 'typebox'
import { type Static, Type } from '../src/schema.ts'

/** Every way to make a schema, with and without options. */
const made = (Type: Pick<typeof TypeBox, keyof typeof TypeBox>) => {
  const text = Type.String({ format: 'uuid', unit: 'UUID', personal: { sealedFor: 'subject' } })
  const inner = Type.Object({ word: Type.Enum(['a', 'b'], { default: 'a' }), none: Type.Unknown() }, { $id: 'Inner' })
  return Type.Object(
    {
      text,
      inner,
      again: Type.Optional(inner),
      list: Type.Array(text, { minItems: 1 }),
      some: Type.Optional(Type.Array(Type.Boolean({ description: 'so' }))),
      whole: Type.Integer({ minimum: 0 }),
      number: Type.Optional(Type.Number()),
      literal: Type.Literal('word', { description: 'one' }),
      either: Type.Union([Type.Literal('x'), Type.Boolean()], { description: 'two' }),
      map: Type.Record(Type.String(), Type.Integer(), { unit: 'count' }),
      open: Type.Unsafe<Record<string, string>>(Type.Object({}, { additionalProperties: Type.String() })),
      loose: Type.Optional(Type.Unsafe<string>(Type.Optional(Type.String()))),
      bare: Type.Unsafe<string>(Type.Optional(Type.String())),
      empty: Type.Object({}),
      allOptional: Type.Object({ one: Type.Optional(Type.Enum(['z'])) }),
    },
    { description: 'all of them' },
  )
}

await t.test('schemas are those of TypeBox, to the order of their members', async (t) => {
  const ours = made(Type as unknown as typeof TypeBox)
  t.equal(JSON.stringify(ours), JSON.stringify(made(TypeBox)))
  t.match(ours.required, ['text', 'inner', 'list'])
})

await t.test('what is optional in one object is not so in another', async (t) => {
  const text = Type.String()
  const optional = Type.Object({ text: Type.Optional(text) })
  t.strictSame(Object.keys(optional), ['type', 'properties'])
  const given: Static<typeof optional> = {}
  t.strictSame(given, {})
  const required = Type.Object({ text })
  t.strictSame(Object.entries(required)[1], ['required', ['text']])
})
