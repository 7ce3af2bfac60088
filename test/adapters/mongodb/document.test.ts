import fc from 'fast-check'
import { BSON } from 'mongodb'
import t from 'tap'
import { fromDocument, toDocument } from '../../../src/adapters/mongodb/rows.ts'

const key = fc.oneof(
  fc.string(),
  fc.constantFrom(
    '',
    '%',
    '%25',
    '%2E',
    'token.name',
    '$where',
    '$ref',
    '$id',
    '_bsontype',
    'toBSON',
    '__proto__',
    'a\0b',
    '..',
    '1',
  ),
)
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
})).value
const object = fc.dictionary(key, json, { maxKeys: 6, noNullPrototype: true })

await t.test('any JSON object is read back from MongoDB unchanged, whatever its keys', async (t) => {
  fc.assert(
    fc.property(object, (value) => {
      const there = BSON.deserialize(BSON.serialize({ doc: toDocument(value) }), { useBigInt64: true })['doc'] as object
      t.equal(JSON.stringify(fromDocument(there)), JSON.stringify(value))
    }),
    { numRuns: 300 },
  )
})

await t.test('no stored field name looks like a path, an operator or a type to the MongoDB driver', async (t) => {
  const deep = (value: unknown): string[] =>
    typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([name, item]) => [name, ...deep(item)])
      : []
  fc.assert(
    fc.property(object, (value) =>
      deep(toDocument(value)).every((name) => name !== '' && !/[.$\0]|^(_bsontype|toBSON)$/.test(name)),
    ),
  )
  t.same(toDocument({ 'token.name': 'ci', plain: { $where: 1 } }), { 'token%2Ename': 'ci', plain: { '%24where': 1 } })
})
