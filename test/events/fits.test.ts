import t from 'tap'
import { Type } from 'typebox'
import { fitting } from '../../src/events/define.ts'

const schema = Type.Object({
  text: Type.String(),
  whole: Type.Integer(),
  share: Type.Number(),
  truth: Type.Boolean(),
  word: Type.Enum(['one', 'two']),
  only: Type.Literal('this'),
  list: Type.Array(Type.Object({ id: Type.String() })),
  texts: Type.Record(Type.String(), Type.String()),
  either: Type.Union([Type.Object({ a: Type.String() }), Type.Object({ b: Type.Boolean() })]),
  any: Type.Unknown(),
  maybe: Type.Optional(Type.String()),
})
const good = {
  text: '',
  whole: 1,
  share: 0.5,
  truth: false,
  word: 'two',
  only: 'this',
  list: [{ id: 'x' }],
  texts: { a: 'b' },
  either: { b: true },
  any: null,
}

await t.test('a value conforms to a schema if every field has the right type', async (t) => {
  const fits = fitting(schema)
  t.ok(fits(good))
  t.ok(fits({ ...good, maybe: 'x', more: 1 }), 'a member that nobody names is let be')
  const wrong: Readonly<Record<string, unknown>> = {
    text: 1,
    whole: 1.5,
    share: '1',
    truth: 'false',
    word: 'three',
    only: 'that',
    list: [{}],
    texts: { a: 1 },
    either: { a: true },
    maybe: 7,
  }
  for (const [name, value] of Object.entries(wrong)) {
    t.notOk(fits({ ...good, [name]: value }), `${name} of another kind`)
    if (name === 'maybe') continue
    const { [name]: _, ...without } = good as Readonly<Record<string, unknown>>
    t.notOk(fits(without), `without ${name}`)
  }
  for (const other of [null, undefined, [], 'text', 1]) t.notOk(fits(other))
})
