import t from 'tap'
import { rowsUnderWay } from '../../../src/adapters/embedded/views/pending-rows.ts'
import type { Channel } from '../../../src/adapters/embedded/writer/channel.ts'
import { isRefusal } from '../../../src/base/errors.ts'
import type { Row, View } from '../../../src/projections/views.ts'
import { virtualClock } from '../../virtual-clock.ts'

/** Maximum puts in flight. */
const BACKLOG = 1_024
const view: View = { name: 'pets', version: 1, fields: [], indexes: [] }
const row = (n: number): Row => ({ key: `k${n}`, revision: 0n, position: 1n, changes: 1n, doc: { n } })

/** A writer that replies on command. */
const world = () => {
  const clock = virtualClock()
  const held: { readonly write: () => void; readonly fail: (error: Error) => void }[] = []
  const call = () => new Promise<void>((write, fail) => held.push({ write, fail }))
  return { clock, held, rows: rowsUnderWay({ call } as unknown as Channel, clock) }
}
const outcomeOf = (work: Promise<unknown>) => {
  const seen: { outcome?: unknown } = {}
  work.then(
    () => (seen.outcome = 'done'),
    (error: unknown) => (seen.outcome = error),
  )
  return seen
}
const late = 'writing rows of the read models took longer than 5000 ms'

await t.test('a write waits 5 s if 1,024 others are pending, and is then refused', async (t) => {
  const { clock, held, rows } = world()
  for (let n = 0; n < BACKLOG; n++) await rows.put(view, [row(n)])
  t.equal(held.length, BACKLOG)
  t.same(clock.waiting(), [], 'nobody waited so far')
  const [first, second] = [outcomeOf(rows.put(view, [row(BACKLOG)])), outcomeOf(rows.put(view, [row(BACKLOG + 1)]))]
  await clock.advance(4_999)
  t.same([first.outcome, second.outcome, held.length], [undefined, undefined, BACKLOG])
  held[0]!.write()
  await clock.settle()
  t.same([first.outcome, second.outcome, held.length], ['done', undefined, BACKLOG + 1], 'who waits first goes first')
  await clock.advance(1)
  t.ok(isRefusal(second.outcome, 'backend_unavailable'))
  t.match((second.outcome as Error).cause, { message: late })
  t.equal(held.length, BACKLOG + 1, 'and is not written')
  t.equal(rows.get('pets_1', `k${BACKLOG + 1}`), undefined)
})

await t.test('a write that timed out no longer counts as pending', async (t) => {
  const { clock, held, rows } = world()
  for (let n = 0; n < BACKLOG; n++) await rows.put(view, [row(n)])
  for (let n = 0; n < 10; n++) rows.put(view, [row(n)]).catch(() => undefined)
  await clock.advance(5_000)
  for (const { write } of held.splice(0)) write()
  await clock.settle()
  for (let n = 0; n < BACKLOG; n++) await rows.put(view, [row(n)])
  t.equal(held.length, BACKLOG, 'as many as before go on their way at once')
})

await t.test('a list request waits 5 s for pending writes and is then refused', async (t) => {
  const { clock, held, rows } = world()
  await rows.flushed()
  await rows.put(view, [row(1)])
  const seen = outcomeOf(rows.flushed())
  await clock.advance(4_999)
  t.equal(seen.outcome, undefined)
  await clock.advance(1)
  t.ok(isRefusal(seen.outcome, 'backend_unavailable'))
  t.match((seen.outcome as Error).cause, { message: late })
  const again = outcomeOf(rows.flushed())
  await clock.advance(4_999)
  held[0]!.write()
  await clock.settle()
  t.equal(again.outcome, 'done', 'in the last millisecond')
  t.same(clock.waiting(), [])
})

await t.test('after a write to the database failed, every further call is refused with its cause', async (t) => {
  const { clock, held, rows } = world()
  await rows.put(view, [row(1)])
  const cause = new Error('lost')
  held[0]!.fail(cause)
  await clock.settle()
  await t.rejects(rows.put(view, [row(2)]), cause)
  await t.rejects(rows.flushed(), cause)
  t.match(rows.get('pets_1', 'k1'), { key: 'k1' }, 'what was put is still seen')
  t.same(clock.waiting(), [])
})
