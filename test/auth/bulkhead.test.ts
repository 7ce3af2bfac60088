import { getEventListeners } from 'node:events'
import t from 'tap'
import { bulkhead } from '../../src/auth/bulkhead.ts'
import { Refusal } from '../../src/base/errors.ts'

/** Tasks that end on demand. `begun` lists the started tasks in order. */
const rig = (limits: { readonly running: number; readonly waiting: number }) => {
  const pass = bulkhead({ ...limits, refused: () => new Refusal('orchestrator_unavailable') })
  const begun: string[] = []
  const ends: (() => void)[] = []
  const enter = (caller: string, name: string, signal = new AbortController().signal) =>
    pass(caller, signal, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.push(resolve))
      return name
    }).catch((error: { reason: string }) => error.reason)
  /** Ends the oldest running task, so that another can start. */
  const end = async () => {
    ends.shift()!()
    await new Promise(setImmediate)
  }
  return { begun, enter, end }
}

await t.test('clients take turns, however many tasks each of them has in the queue', async (t) => {
  const { begun, enter, end } = rig({ running: 1, waiting: 10 })
  const all = [...'abcd'].map((name) => enter('many', name))
  all.push(enter('few', 'x'), enter('one', 'y'), enter('few', 'z'))
  await new Promise(setImmediate)
  for (let n = 0; n < 7; n++) await end()
  t.strictSame(begun, ['a', 'b', 'x', 'y', 'c', 'z', 'd'])
  t.strictSame(await Promise.all(all), ['a', 'b', 'c', 'd', 'x', 'y', 'z'])
})

await t.test('a task is refused if the queue is full or the wait too long, and then no longer counts', async (t) => {
  const { begun, enter, end } = rig({ running: 1, waiting: 2 })
  const first = enter('a', 'first')
  const gone = new AbortController()
  const late = enter('a', 'late', gone.signal)
  const stays = new AbortController()
  const second = enter('b', 'second', stays.signal)
  t.equal(await enter('c', 'too many'), 'orchestrator_unavailable')
  gone.abort()
  t.equal(await late, 'orchestrator_unavailable')
  const third = enter('c', 'third')
  for (let n = 0; n < 3; n++) await end()
  t.strictSame(await Promise.all([first, second, third]), ['first', 'second', 'third'])
  t.strictSame(begun, ['first', 'second', 'third'])
  for (const { signal } of [gone, stays])
    t.same(getEventListeners(signal, 'abort'), [], 'who does not wait any more hears of no end of the wait')
})
