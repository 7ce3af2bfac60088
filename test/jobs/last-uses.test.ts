import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { lastUses } from '../../src/jobs/last-uses.ts'
import type { Views } from '../../src/projections/views.ts'
import { virtualClock } from '../virtual-clock.ts'

type Kept = Map<string, { readonly revision: number; readonly value: { readonly at: string } }>

/** Records uses from the beginning of 1970 on. `kept` are the written ones; `down` makes the store unreachable. */
const noting = (kept: Kept = new Map()) => {
  const clock = virtualClock('1970-01-01T00:00:00.000Z')
  const store = { down: false, most: 0 }
  const views = {
    records: async (_: string, ids: readonly string[]) => {
      if (store.down) throw new Refusal('backend_unavailable')
      store.most = Math.max(store.most, ids.length)
      return new Map(ids.flatMap((id) => (kept.has(id) ? [[id, kept.get(id)!] as const] : [])))
    },
    swapRecord: async (_: string, id: string, expected: number, value: { readonly at: string }) => {
      if ((kept.get(id)?.revision ?? 0) !== expected) return false
      kept.set(id, { revision: expected + 1, value })
      return true
    },
  } as unknown as Pick<Views, 'records' | 'swapRecord'>
  const errors: unknown[] = []
  const uses = lastUses({ table: 'token-uses', views, clock, onError: (error) => void errors.push(error) })
  return { ...uses, clock, kept, errors, store }
}

await t.test('a use of a token belongs to its hour of the clock, to the millisecond', async (t) => {
  const { note, lastOf, close } = noting()
  t.equal(note('a', 3_599_999), 3_600_000)
  t.equal(note('b', 3_600_000), 7_200_000)
  t.same(
    await lastOf(['a', 'b']),
    new Map([
      ['a', '1970-01-01T00:00:00.000Z'],
      ['b', '1970-01-01T01:00:00.000Z'],
    ]),
  )
  await close()
})

await t.test('100 uses of tokens are written every 5 s, and the rest at the close', async (t) => {
  const { note, clock, kept, close, errors } = noting()
  for (let n = 0; n < 350; n++) t.ok(note(`t${n}`, 0))
  await clock.advance(4_999)
  t.equal(kept.size, 0)
  await clock.advance(1)
  t.equal(kept.size, 100)
  await clock.advance(4_999)
  t.equal(kept.size, 100)
  await clock.advance(1)
  t.equal(kept.size, 200)
  await close()
  t.equal(kept.size, 300)
  t.strictSame([clock.waiting(), errors], [[], []])
})

await t.test('a list at a past moment has only uses of tokens in hours that had ended by then', async (t) => {
  const { note, lastOf, flush, close } = noting()
  note('a', 3_600_000)
  await flush()
  t.same(await lastOf(['a']), new Map([['a', '1970-01-01T01:00:00.000Z']]))
  t.same(await lastOf(['a'], new Date('1970-01-01T01:59:59.999Z')), new Map())
  t.same(await lastOf(['a'], new Date('1970-01-01T02:00:00.000Z')), new Map([['a', '1970-01-01T01:00:00.000Z']]))
  await close()
})

await t.test('the last uses of 20,000 flags are written in bounded steps and read in parts', async (t) => {
  const { note, lastOfOrRefuse, clock, kept, store, close } = noting()
  const ids = Array.from({ length: 20_000 }, (_, n) => `flag ${n}`)
  for (const id of ids) note(id, 0)
  for (const id of ids) note(id, 3_599_999)
  t.equal((await lastOfOrRefuse(ids)).size, 20_000, 'known before they are written')
  t.equal(store.most, 500)
  await clock.advance(199 * 5_000)
  t.equal(kept.size, 19_900)
  await clock.advance(5_000)
  t.equal(kept.size, 20_000)
  t.equal([...kept.values()].filter(({ revision }) => revision > 1).length, 0, 'each once an hour')
  await close()
})

await t.test('at most 100,000 uses wait, and a use that found no place is recorded later', async (t) => {
  const { note, clock, kept, store, close } = noting()
  store.down = true
  for (let n = 0; n < 100_000; n++) note(`flag ${n}`, 0)
  t.equal(note('one more', 0), 0, 'the next evaluation tries again')
  t.equal(note('flag 0', 0), 3_600_000)
  store.down = false
  await clock.advance(5_000)
  t.equal(kept.size, 100)
  t.equal(note('one more', 0), 3_600_000)
  await close()
})

await t.test('instances share the last uses of flags, and keep the later hour', async (t) => {
  const kept: Kept = new Map()
  const [one, other] = [noting(kept), noting(kept)]
  one.note('a', 3_600_000)
  t.same(await other.lastOf(['a']), new Map(), 'before it is written')
  await one.clock.advance(5_000)
  t.same(await other.lastOf(['a']), new Map([['a', '1970-01-01T01:00:00.000Z']]))
  other.note('a', 0)
  await other.clock.advance(5_000)
  t.same(await one.lastOf(['a']), new Map([['a', '1970-01-01T01:00:00.000Z']]), 'from a clock that is behind')
  await Promise.all([one.close(), other.close()])
})

await t.test('a decision by the last use is refused while the store is unreachable', async (t) => {
  const { note, lastOf, lastOfOrRefuse, store, close } = noting()
  note('a', 0)
  store.down = true
  t.same(await lastOf(['a', 'b']), new Map([['a', '1970-01-01T00:00:00.000Z']]))
  await t.rejects(lastOfOrRefuse(['a', 'b']), /temporarily unavailable/)
  store.down = false
  await close()
})
