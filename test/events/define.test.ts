import t from 'tap'
import { Type } from 'typebox'
import { inFormat, next, reader, typeName, v1, wireName } from '../../src/events/define.ts'

const first = v1(Type.Object({ name: Type.String() }))
const second = next(first, Type.Object({ names: Type.Array(Type.String()) }), ({ name }) => ({ names: [name] }), {
  format: 2,
  downcast: ({ names }) => (names.length === 1 ? { name: names[0]! } : undefined),
})
const third = next(
  second,
  Type.Object({ names: Type.Array(Type.String()), many: Type.Boolean() }),
  ({ names }) => ({ names, many: names.length > 1 }),
  { format: 4, downcast: ({ names }) => ({ names }) },
)

await t.test('every earlier shape of an event is read as its newest shape', async (t) => {
  const read = reader({ Named: third })
  t.strictSame(read('Named', '{"name":"ann"}'), { type: 'Named', data: { names: ['ann'], many: false } })
  t.strictSame(read('Named.v2', '{"names":["ann","bob"]}'), {
    type: 'Named',
    data: { names: ['ann', 'bob'], many: true },
  })
  t.strictSame(read('Named.v3', '{"many":true,"names":[]}'), { type: 'Named', data: { names: [], many: true } })
  t.throws(() => read('Named.v4', '{}'), /written by a newer version/)
})

await t.test('from version 2 on the stored name of an event contains its version', async (t) => {
  t.strictSame(
    [first, second, third].map(({ version }) => wireName('Named', version)),
    ['Named', 'Named.v2', 'Named.v3'],
  )
  for (const { version } of [first, second, third]) t.equal(typeName(wireName('Named', version)), 'Named')
})

await t.test('an event is written in the newest shape that its format has', async (t) => {
  const shapes = { Named: third, Closed: v1(Type.Object({}), 3) }
  const told = (format: number, names: readonly string[]) => {
    const written = inFormat(shapes, format, { type: 'Named', data: { names, many: true } })
    return written && [written.shape.version, written.data, written.event.data]
  }
  t.strictSame(told(4, ['ann']), [3, { names: ['ann'], many: true }, { names: ['ann'], many: true }])
  t.strictSame(told(3, ['ann']), [2, { names: ['ann'] }, { names: ['ann'], many: false }])
  t.strictSame(told(1, ['ann']), [1, { name: 'ann' }, { names: ['ann'], many: false }])
  t.equal(told(1, ['ann', 'bob']), undefined, 'the first shape cannot say it')
  const closed = { type: 'Closed', data: {} }
  t.equal(inFormat(shapes, 2, closed), undefined, 'nobody read it then')
  t.equal(inFormat(shapes, 3, closed)?.event, closed)
})

await t.test('an event is written in an earlier shape if that can represent all of its data', async (t) => {
  const weighed = next(
    first,
    Type.Object({ name: Type.String(), weight: Type.Optional(Type.Number()) }),
    (named) => named,
    {
      format: 2,
      downcast: ({ weight, ...named }) => (weight === undefined ? named : undefined),
      asBefore: ({ weight }) => weight === undefined,
    },
  )
  const told = (format: number, data: object) => {
    const written = inFormat({ Named: weighed }, format, { type: 'Named', data })
    return written && [written.shape.version, written.data]
  }
  for (const format of [1, 2, 3]) t.strictSame(told(format, { name: 'ann' }), [1, { name: 'ann' }])
  t.strictSame(told(2, { name: 'ann', weight: 1 }), [2, { name: 'ann', weight: 1 }])
  t.equal(told(1, { name: 'ann', weight: 1 }), undefined)
})
