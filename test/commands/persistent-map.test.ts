import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { emptyMap, type PersistentMap } from '../../src/commands/persistent-map.ts'

const inOrder = <V>(entries: Iterable<readonly [string, V]>) =>
  [...entries].sort(([one], [other]) => (one < other ? -1 : 1))
const same = (map: PersistentMap<number>, model: ReadonlyMap<string, number>) => {
  assert.equal(map.size, model.size)
  assert.deepEqual(inOrder(map), inOrder(model))
  const seen: string[] = []
  assert.equal(
    map.every((key) => seen.push(key) > 0),
    true,
  )
  assert.deepEqual(seen.sort(), [...model.keys()].sort())
  for (const [key] of model)
    assert.equal(
      map.every((present) => present !== key),
      false,
    )
}

await t.test('the persistent map behaves like a Map and never changes earlier versions', async (t) => {
  const key = fc.oneof(fc.integer({ min: 0, max: 300 }).map(String), fc.string({ maxLength: 2 }))
  const change = fc.record({ key, value: fc.integer(), gone: fc.boolean() })
  fc.assert(
    fc.property(fc.array(change, { maxLength: 400, size: 'max' }), (changes) => {
      let map = emptyMap<number>()
      const model = new Map<string, number>()
      const before: [PersistentMap<number>, ReadonlyMap<string, number>][] = []
      for (const [n, { key, value, gone }] of changes.entries()) {
        if (n % 50 === 0) before.push([map, new Map(model)])
        map = gone ? map.delete(key) : map.set(key, value)
        if (gone) model.delete(key)
        else model.set(key, value)
        assert.equal(map.get(key), model.get(key))
        assert.equal(map.has(key), model.has(key))
      }
      same(map, model)
      for (const [map, model] of before) same(map, model)
    }),
    { numRuns: 60 },
  )
  t.pass('always the same')
})

await t.test('the persistent map stores keys with equal hashes', async (t) => {
  // Both keys have the same 32-bit FNV-1a hash.
  const pair = ['costarring', 'liquid'] as const
  let map = emptyMap<number>()
  for (let n = 0; n < 40; n++) map = map.set(`${pair[n % 2]}`, n).set(`key ${n}`, n)
  t.equal(map.get('costarring'), 38)
  t.equal(map.get('liquid'), 39)
  t.equal(map.size, 42)
  t.equal(map.delete('liquid').get('costarring'), 38)
})

await t.test('"every" of the persistent map stops at the first key that fails the test', async (t) => {
  let map = emptyMap<number>()
  for (let n = 0; n < 1000; n++) map = map.set(`key ${n}`, n)
  let looks = 0
  t.equal(
    map.every(() => ++looks < 10),
    false,
  )
  t.equal(looks, 10)
})
