import fc from 'fast-check'
import t from 'tap'
import { canonical } from '../../src/base/canonical.ts'
import { differences } from '../../src/history/diff.ts'

const NONE: ReadonlySet<string> = new Set()

await t.test('a comparison of two states compares fields one by one, and list items by id', (t) => {
  const from = {
    name: 'a',
    'x/y~z': 1,
    list: [
      { id: '1', rank: 1 },
      { id: '2', rank: 2 },
    ],
    gone: true,
    keys: ['a'],
  }
  const to = {
    name: 'b',
    'x/y~z': 2,
    list: [
      { id: '2', rank: 1 },
      { id: '3', rank: 2 },
    ],
    keys: ['a', 'b'],
  }
  t.strictSame(differences(from, to, NONE), [
    { path: '/name', from: 'a', to: 'b' },
    { path: '/x~1y~0z', from: 1, to: 2 },
    { path: '/list/2/rank', from: 2, to: 1 },
    { path: '/list/3', to: { id: '3', rank: 2 } },
    { path: '/list/1', from: { id: '1', rank: 1 } },
    { path: '/keys', from: ['a'], to: ['a', 'b'] },
    { path: '/gone', from: true },
  ])
  t.strictSame(differences({ a: 1, updatedAt: 1 }, { a: 1, updatedAt: 2 }, new Set(['updatedAt'])), [])
  t.end()
})

await t.test('a comparison of two states distinguishes lists, objects and inherited properties', (t) => {
  const proto: unknown = JSON.parse('{"__proto__":{"a":1}}')
  for (const [one, other] of [
    [[], {}],
    [[{ id: 'a' }], { a: { id: 'a' } }],
    [
      [
        { id: 'a', x: 1 },
        { id: 'a', x: 2 },
      ],
      [{ id: 'a', x: 2 }],
    ],
    [{ toString: 1 }, {}],
    [proto, {}],
    [{ a: null }, {}],
  ])
    t.equal(differences(one, other, NONE).length, 1, JSON.stringify([one, other]))
  t.end()
})

await t.test('the difference of two values is empty only if they are equal', (t) => {
  const value = fc.jsonValue({ maxDepth: 3 })
  fc.assert(
    fc.property(value, value, (one, other) => {
      t.equal(differences(one, other, NONE).length === 0, canonical(one) === canonical(other))
      return differences(one, structuredClone(one), NONE).length === 0
    }),
    { numRuns: 300 },
  )
  t.end()
})
