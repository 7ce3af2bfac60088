import fc from 'fast-check'
import t from 'tap'
import { reachOf, reachText } from '../../src/access/reach.ts'
import { tokenIndex } from '../../src/projections/token-memory/token-index.ts'
import type { TokenDoc } from '../../src/projections/tokens.ts'
import type { Row } from '../../src/projections/views.ts'
import { digestOf, NOW, rowOf } from './token-rows.ts'

/** Reach with rights in `places` namespaces, different for each `n`. */
const fat = (n: number, places = 64): string =>
  reachText(
    reachOf({
      grants: Array.from({ length: places }, (_, place) => ({ place: `ns-${n}-${place}`, rights: ['flag.read'] })),
      roles: {},
    }),
  )
const sizeOf = (text: string, places: number): number => text.length + 160 * places
const each = sizeOf(fat(100), 64)

await t.test('tokens with many namespaces stay within their share of memory', async (t) => {
  const index = tokenIndex(10_000, 10 * each)
  const isHeld = (n: number) => index.find(index.keyOf(digestOf(n))).entry !== undefined
  for (let n = 0; n < 2_000; n++) index.remember(rowOf(n, { namespace: 'shop' }))
  for (let n = 2_000; n < 3_000; n++) {
    index.remember(rowOf(n, { reach: fat(n % 900, 64) }))
    if (!isHeld(n)) t.fail(`${n}: the newest is held`)
    if (index.reachBytes() > 10 * each) t.fail(`${n}: ${index.reachBytes()} bytes`)
  }
  const all = Array.from({ length: 3_000 }, (_, n) => n)
  t.equal(all.slice(0, 2_000).filter(isHeld).length, 2_000, 'tokens that share what they may do stay')
  const left = all.slice(2_000).filter(isHeld).length
  t.ok(left >= 8 && left <= 10, `${left} of the others`)
  t.same(
    all.filter((n) => index.find(index.keyOf(digestOf(n))).state === 'evicted'),
    all.filter((n) => !isHeld(n)),
    'the others are known to be somewhere else',
  )
  index.remember(rowOf(2_000, { reach: fat(2_000 % 900) }))
  t.ok(isHeld(2_000), 'one that is used comes back')
})

await t.test('a token that exceeds the whole limit is kept in memory alone', async (t) => {
  const index = tokenIndex(100, 10)
  index.remember(rowOf(1, { reach: fat(1) }))
  index.remember(rowOf(2, { reach: fat(2) }))
  t.notOk(index.find(index.keyOf(digestOf(1))).entry)
  t.equal(index.find(index.keyOf(digestOf(2))).entry?.reach.places.size, 64)
})

await t.test('memory and number of tokens by creator are counted correctly after any changes', async () => {
  const step = fc.record({
    what: fc.constantFrom('add', 'add', 'narrow', 'end', 'use'),
    n: fc.nat(40),
    places: fc.integer({ min: 0, max: 12 }),
    maker: fc.constantFrom('a', 'b', undefined),
  })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.constantFrom(6_000, 1e9), (steps, most) => {
      const index = tokenIndex(30, most)
      const rows = new Map<number, Row<TokenDoc>>()
      const ended = new Set<number>()
      for (const [time, { what, n, places, maker }] of steps.entries()) {
        if (ended.has(n)) continue
        const before = rows.get(n)?.doc
        const revision = BigInt(time)
        const reach = fat(n % 7, places)
        if (what === 'use') index.find(index.keyOf(digestOf(n)))
        else if (what === 'end') {
          if (!before) continue
          index.remember(rowOf(n, { ...before, deletedAt: NOW }, revision))
          rows.delete(n)
          ended.add(n)
        } else if (what === 'narrow' ? before : !before) {
          const doc = { ...(before ?? (maker !== undefined && { issuedBy: maker })), reach }
          index.remember(rowOf(n, doc, revision))
          rows.set(n, rowOf(n, doc, revision))
        }
        const held = [...rows].filter(([m]) => index.find(index.keyOf(digestOf(m))).entry)
        const texts = new Map(held.map(([, row]) => [row.doc!.reach!, index.find(index.keyOf(row.doc!.digest)).entry!]))
        const bytes = [...texts].reduce((sum, [text, { reach }]) => sum + sizeOf(text, reach.places.size), 0)
        if (bytes !== index.reachBytes() || bytes > most) return false
        for (const name of ['a', 'b', undefined]) {
          const own = held.filter(([, row]) => row.doc!.issuedBy === name)
          const characters = own.reduce((sum, [, row]) => sum + row.doc!.reach!.length, 0)
          const made = index.countIssuedBy(name)
          if (made.tokens !== own.length || made.characters !== characters) return false
        }
      }
      return true
    }),
    { numRuns: 150 },
  )
})

await t.test('a snapshot larger than the memory is restored as far as it fits', async (t) => {
  const index = tokenIndex(1_000)
  for (let n = 0; n < 100; n++) index.remember(rowOf(n, { reach: fat(n), issuedBy: 'a' }))
  const copy = index.save()!
  t.ok(copy.facts.reaches.every((text) => text !== ''))
  const small = tokenIndex(1_000, 20 * each)
  small.load(copy)
  t.ok(small.reachBytes() <= 20 * each && small.size() >= 18, `${small.size()} tokens`)
  t.equal(small.countIssuedBy('a').tokens, small.size())
  const whole = tokenIndex(1_000)
  whole.load(copy)
  t.equal(whole.reachBytes(), index.reachBytes())
  t.strictSame(whole.countIssuedBy('a'), index.countIssuedBy('a'))
})
