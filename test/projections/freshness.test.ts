import t from 'tap'
import { freshness } from '../../src/projections/engine/freshness.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

/** Head read that the test answers, with the times of its calls. */
const asking = (clock: ReturnType<typeof virtualClock>) => {
  const asked: number[] = []
  let answer: (position: bigint) => void = () => {}
  let fail: (error: Error) => void = () => {}
  const head = () => {
    asked.push(clock.monotonic())
    return new Promise<bigint>((done, failed) => ([answer, fail] = [done, failed]))
  }
  return {
    head,
    asked,
    answer: async (position: bigint) => {
      answer(position)
      await clock.settle()
    },
    fail: async (message: string) => {
      fail(new Error(message))
      await clock.settle()
    },
  }
}

await t.test('an instance may answer for 2 s after its last successful check of the end of the log', async (t) => {
  const clock = virtualClock()
  const { head, answer } = asking(clock)
  const { fresh, age, close } = freshness({ clock, head, seen: async () => true })
  t.notOk(fresh(), 'nothing is proven at first')
  await clock.advance(1_600)
  await answer(1n)
  t.ok(fresh())
  t.equal(age(), 1_600, 'the proof is as old as its question')
  await clock.advance(400)
  t.ok(fresh())
  await clock.advance(1)
  t.notOk(fresh(), 'the lease runs out while the store says nothing')
  t.equal(age(), 2_001)
  await answer(2n)
  t.ok(fresh())
  const closing = close()
  await answer(3n)
  await closing
  t.strictSame(clock.waiting(), [])
})

await t.test('an instance checks the end of the log every 500 ms', async (t) => {
  const clock = virtualClock()
  const asked: number[] = []
  let takes = 0
  const head = async () => {
    asked.push(clock.monotonic())
    await clock.sleep(takes)
    return 1n
  }
  const { close } = freshness({ clock, head, seen: async () => true })
  await clock.advance(499)
  t.strictSame(asked, [0])
  await clock.advance(501)
  t.strictSame(asked, [0, 500, 1_000])
  takes = 400
  await clock.advance(1_400)
  t.strictSame(asked.slice(3), [1_500, 2_000], 'what a proof takes is no part of it')
  await close()
})

await t.test('after a slow check of the log the next one follows soon', async (t) => {
  const clock = virtualClock()
  const asked: number[] = []
  const head = async () => {
    asked.push(clock.monotonic())
    await clock.sleep(5_000)
    return 1n
  }
  const { close } = freshness({ clock, head, seen: async () => true })
  await clock.advance(5_099)
  t.strictSame(asked, [0])
  await clock.advance(1)
  t.strictSame(asked, [0, 5_100], 'a fifth of the interval passes in any case')
  const closing = close()
  await clock.advance(5_000)
  await closing
})

await t.test('a check fails if the log is unreachable or memory lacks its newest event', async (t) => {
  const clock = virtualClock()
  const waits: number[] = []
  const down = freshness({ clock, head: async () => Promise.reject(new Error('down')), seen: async () => true })
  const behind = freshness({
    clock,
    head: async () => 7n,
    seen: async (_, withinMs) => {
      waits.push(withinMs)
      return false
    },
  })
  await clock.advance(10_000)
  t.notOk(down.fresh())
  t.notOk(behind.fresh())
  t.equal(waits.length, 21, 'and both are asked on and on')
  t.strictSame([...new Set(waits)], [2_000], 'memory has as long for it as a proof is good for')
  await down.close()
  await behind.close()
})

await t.test('a failing check of the log is logged once with its cause, and its end once', async (t) => {
  const clock = virtualClock()
  let log: 'answers' | 'fails' | 'hangs' | 'slow' = 'answers'
  let remembered = true
  const told: unknown[] = []
  const { fresh, close } = freshness({
    clock,
    head: async () => {
      if (log === 'fails') throw new Error('connection refused')
      if (log === 'hangs') await clock.sleep(600_000)
      if (log === 'slow') await clock.sleep(2_500)
      return 7n
    },
    seen: async () => remembered,
    onStale: (spell) => told.push(spell),
    onFresh: (afterMs) => told.push(afterMs),
  })
  /** Advances time and returns the new reports. */
  const after = async (ms: number) => {
    await clock.advance(ms)
    return told.splice(0)
  }
  t.strictSame(await after(60_000), [], 'nothing while it is fresh')
  log = 'fails'
  const down = { forMs: 2_001, why: 'the event log does not return its newest position: connection refused', head: 7n }
  t.strictSame(await after(2_000), [])
  t.strictSame(await after(600_000), [down], 'once, however long it lasts')
  log = 'answers'
  const [over] = (await after(500)) as number[]
  t.ok(over! >= 602_000 && over! <= 602_500, `${over} ms`)
  t.ok(fresh())
  remembered = false
  t.match(await after(3_000), [{ why: 'memory does not have the newest event of the log', head: 7n }])
  remembered = true
  t.equal((await after(500)).length, 1)
  log = 'hangs'
  t.match(await after(3_000), [{ why: 'the event log does not return its newest position: no answer yet' }])
  log = 'slow'
  t.strictSame(await after(620_000), [], 'a proof that is too old when it comes ends no spell')
  log = 'answers'
  t.equal((await after(3_000)).length, 1)
  log = 'fails'
  await clock.advance(2_400)
  log = 'answers'
  told.length = 0
  await close()
  t.strictSame(await after(60_000), [], 'nothing once it is closed')
  t.strictSame(clock.waiting(), [])
})

await t.test('failing checks before the first successful one are not logged', async (t) => {
  const clock = virtualClock()
  const told: unknown[] = []
  let remembered = false
  const { close } = freshness({
    clock,
    head: async () => 7n,
    seen: async () => remembered,
    onStale: (spell) => told.push(spell),
    onFresh: (afterMs) => told.push(afterMs),
  })
  await clock.advance(600_000)
  remembered = true
  await clock.advance(3_000)
  t.strictSame(told, [])
  await close()
})

await t.test('the newest position is unknown while the log is unreachable or the instance is not fresh', async (t) => {
  const clock = virtualClock()
  const { head, asked, answer, fail } = asking(clock)
  const { newest, close } = freshness({ clock, head, seen: async () => true })
  t.equal(await newest(60_000), undefined, 'nothing is proven at first')
  t.equal(asked.length, 1, 'no read beside that of the lease')
  await answer(1n)
  const failing = newest(60_000)
  await fail('down')
  t.equal(await failing, undefined)
  await clock.advance(2_001)
  t.equal(await newest(60_000), undefined, 'the lease has ended')
  const closing = close()
  await fail('still down')
  await closing
})

await t.test('a request for the newest position waits for the next read, which other requests share', async (t) => {
  const clock = virtualClock()
  const { head, asked, answer } = asking(clock)
  const { newest, close } = freshness({ clock, head, seen: async () => true })
  await answer(1n)
  await clock.advance(500)
  t.equal(asked.length, 2, 'the read that the lease began is under way')
  const several = Promise.all([newest(60_000), newest(60_000), newest(60_000)])
  await answer(1n)
  t.equal(asked.length, 3, 'one more for all who came meanwhile')
  await answer(2n)
  t.same(await several, [2n, 2n, 2n])
  const told = noted(newest(300))
  await clock.advance(299)
  t.strictSame(told, [])
  await clock.advance(1)
  t.strictSame(told, [undefined], 'no answer in time')
  const closing = close()
  await answer(4n)
  await answer(5n)
  await closing
})
