import t from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import { viewProgress } from '../../src/projections/engine/position-waiters.ts'
import { memoryViews } from '../memory-views.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

const view = { name: 'x', version: 1, fields: [], indexes: [] }

/** Views that this or another instance writes; `looks` counts reads of the checkpoint. */
const setup = (writes = true, clockOf: (clock: Clock) => Clock = (clock) => clock, readMs = 0) => {
  const clock = virtualClock()
  let looks = 0
  const { views, checkpoints } = memoryViews(() => {
    looks++
    return readMs > 0 ? clock.sleep(readMs) : undefined
  })
  const elsewhere = (position: bigint) =>
    void checkpoints.set(view.name, { position, event: '', log: '', events: 1, rows: 1, changes: 1 })
  const made = viewProgress(clockOf(clock), views, () => writes)
  return { ...made, clock, elsewhere, looks: () => looks }
}

await t.test('a wait for the read models ends when the position is reached', async (t) => {
  const { reached, stand, clock } = setup()
  const waiting = noted(reached(view, 5n, 60_000))
  stand(4n)
  await clock.advance(30_000)
  t.strictSame(waiting, [])
  stand(5n)
  await clock.settle()
  t.strictSame(waiting, [true])
  t.equal(await reached(view, 5n, 0), true)
})

await t.test('a wait for the read models fails at the first check after its timeout', async (t) => {
  for (const [withinMs, told] of [
    [0, 50],
    [1, 100],
    [2_000, 2_050],
  ] as const) {
    const { reached, clock, looks } = setup()
    const waiting = noted(reached(view, 6n, withinMs))
    await clock.advance(told - 1)
    t.strictSame(waiting, [], `within ${withinMs} ms`)
    await clock.advance(1)
    t.strictSame(waiting, [false])
    t.equal(looks(), 0, 'who sees to the views asks them nothing')
  }
})

await t.test('the checkpoint of another instance is checked every 50 ms', async (t) => {
  const { reached, clock, looks, elsewhere } = setup(false)
  const waiting = noted(reached(view, 5n, 10_000))
  elsewhere(4n)
  await clock.advance(49)
  t.equal(looks(), 0)
  await clock.advance(1)
  t.equal(looks(), 1)
  await clock.advance(450)
  t.strictSame([looks(), waiting], [10, []])
  elsewhere(5n)
  await clock.advance(49)
  t.strictSame(waiting, [])
  await clock.advance(1)
  t.strictSame([looks(), waiting], [11, [true]])
})

await t.test('all callers that wait for the checkpoint of another instance share its reads', async (t) => {
  const { reached, clock, looks, elsewhere } = setup(false, undefined, 10)
  const waiting = noted(Promise.all(Array.from({ length: 100 }, () => reached(view, 5n, 10_000))))
  await clock.advance(500)
  t.ok(looks() <= 20, `${looks()} reads for 100 callers that look every 50 ms`)
  elsewhere(5n)
  await clock.advance(100)
  t.strictSame(waiting, [Array.from({ length: 100 }, () => true)])
})

await t.test('events that arrived while the process was suspended count, even after the timeout', async (t) => {
  let stood = 0
  const standing = (clock: Clock): Clock => ({ ...clock, monotonic: () => clock.monotonic() + stood })
  const { reached, stand, clock } = setup(true, standing)
  const waiting = noted(reached(view, 5n, 20))
  // The next check and the timeout are due at once, and the events arrive only after them.
  stood = 120
  await clock.advance(50)
  t.strictSame(waiting, [])
  stand(5n)
  await clock.settle()
  t.strictSame(waiting, [true])
})
