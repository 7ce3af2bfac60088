import t from 'tap'
import { Type } from 'typebox'
import { next, reader, typeName, v1, wireName } from '../../src/events/define.ts'

const first = v1(Type.Object({ name: Type.String() }))
const second = next(first, Type.Object({ names: Type.Array(Type.String()) }), ({ name }) => ({ names: [name] }))
const third = next(second, Type.Object({ names: Type.Array(Type.String()), many: Type.Boolean() }), ({ names }) => ({
  names,
  many: names.length > 1,
}))

await t.test('whatever shape an event was written in, it is read in the newest', async (t) => {
  const read = reader({ Named: third })
  t.strictSame(read('Named', '{"name":"ann"}'), { type: 'Named', data: { names: ['ann'], many: false } })
  t.strictSame(read('Named.v2', '{"names":["ann","bob"]}'), {
    type: 'Named',
    data: { names: ['ann', 'bob'], many: true },
  })
  t.strictSame(read('Named.v3', '{"many":true,"names":[]}'), { type: 'Named', data: { names: [], many: true } })
  t.throws(() => read('Named.v4', '{}'), /written by a newer version/)
})

await t.test('the wire name has the version from the second shape on', async (t) => {
  t.strictSame(
    [first, second, third].map(({ version }) => wireName('Named', version)),
    ['Named', 'Named.v2', 'Named.v3'],
  )
  for (const { version } of [first, second, third]) t.equal(typeName(wireName('Named', version)), 'Named')
})
