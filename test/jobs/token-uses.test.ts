import t from 'tap'
import { tokenUses } from '../../src/jobs/token-uses.ts'
import type { Views } from '../../src/projections/views.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Records uses from the beginning of 1970 on. `kept` are the written ones. */
const noting = () => {
  const clock = virtualClock('1970-01-01T00:00:00.000Z')
  const kept = new Map<string, { readonly revision: number; readonly value: { readonly at: string } }>()
  const views = {
    records: async (_: string, ids: readonly string[]) =>
      new Map(ids.flatMap((id) => (kept.has(id) ? [[id, kept.get(id)!] as const] : []))),
    swapRecord: async (_: string, id: string, expected: number, value: { readonly at: string }) => {
      if ((kept.get(id)?.revision ?? 0) !== expected) return false
      kept.set(id, { revision: expected + 1, value })
      return true
    },
  } as unknown as Pick<Views, 'records' | 'swapRecord'>
  const errors: unknown[] = []
  const uses = tokenUses({ views, clock, onError: (error) => void errors.push(error) })
  return { ...uses, clock, kept, errors }
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
