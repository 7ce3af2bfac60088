import fc from 'fast-check'
import t from 'tap'
import { changed, changes, moved, replaced, without } from '../../src/events/change.ts'

const thing = fc.record({
  name: fc.string(),
  on: fc.boolean(),
  data: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }),
})

await t.test('the difference between two values, applied to the first, gives the second', async (t) => {
  fc.assert(
    fc.property(thing, thing, (from, to) => {
      const found = changes(from, to)
      t.strictSame(JSON.parse(JSON.stringify(found ? changed(from, found) : from)), JSON.parse(JSON.stringify(to)))
    }),
    { numRuns: 50 },
  )
})

await t.test('the order of members is ignored when two values are compared', async (t) => {
  t.equal(changes({ data: { a: 1, b: [2] } }, { data: { b: [2], a: 1 } }), undefined)
  t.strictSame(changes({ a: 1, b: 2 }, { a: 1, b: 3 }), { b: { from: 2, to: 3 } })
  t.equal(changes({ a: 1 }, { a: undefined }), undefined, 'absent is kept')
})

await t.test('a change without a new value removes the field', async (t) => {
  t.strictSame(changed<{ a?: number; b: number }>({ a: 1, b: 2 }, { a: { from: 1 } }), { b: 2 })
})

await t.test('changes replace and remove items of a list by id', async (t) => {
  const list = [
    { id: 'a', n: 1 },
    { id: 'b', n: 2 },
  ]
  t.strictSame(
    replaced(list, 'b', (part) => ({ ...part, n: 3 })).map(({ n }) => n),
    [1, 3],
  )
  t.strictSame(
    replaced(list, 'z', () => ({ id: 'z', n: 0 })),
    list,
  )
  t.strictSame(without(list, 'a'), [list[1]])
})

await t.test('list items that changed their rank are sorted by rank, and the others keep their order', async (t) => {
  const list = [
    { id: 'a', rank: 1, at: 0 },
    { id: 'b', rank: 2, at: 0 },
    { id: 'c', rank: 9, at: 0 },
  ]
  const after = moved(
    list,
    [
      { id: 'c', to: 1 },
      { id: 'a', to: 3 },
    ],
    { at: 7 },
  )
  t.strictSame(after, [
    { id: 'c', rank: 1, at: 7 },
    { id: 'b', rank: 2, at: 0 },
    { id: 'a', rank: 3, at: 7 },
  ])
})
