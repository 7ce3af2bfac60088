import t from 'tap'
import { freshness } from '../../src/projections/engine/freshness.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

/** A head that is told when the test says so, and when it was asked for. */
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

await t.test('fresh while the head was seen within 2 s, by the time of asking and not of the answer', async (t) => {
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

await t.test('a proof is sought every half second, from question to question', async (t) => {
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

await t.test('a proof that took long is followed by the next one soon', async (t) => {
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

await t.test('a store out of reach, and a head that memory has not reached, prove nothing', async (t) => {
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

await t.test('with a log out of reach nobody is caught up, and who asks meanwhile asks again', async (t) => {
  const clock = virtualClock()
  const { head, asked, fail } = asking(clock)
  const { caughtUp, close } = freshness({ clock, head, seen: async () => true })
  const meanwhile = caughtUp(60_000)
  await fail('down')
  t.equal(asked.length, 2)
  await fail('still down')
  t.equal(await meanwhile, false)
  const next = caughtUp(60_000)
  await fail('down again')
  t.equal(await next, false)
  await close()
})

await t.test(
  'who asks to be caught up is told of the head as it was afterwards, and many who ask share a reading',
  async (t) => {
    const clock = virtualClock()
    const { head, asked, answer } = asking(clock)
    const reached: bigint[] = []
    const seen = async (position: bigint) => {
      reached.push(position)
      return position <= 2n
    }
    const { caughtUp, close } = freshness({ clock, head, seen })
    const several = Promise.all([caughtUp(60_000), caughtUp(60_000), caughtUp(60_000)])
    t.equal(asked.length, 1, 'the reading that the lease began is under way')
    await answer(1n)
    t.equal(asked.length, 2, 'one more for all who came meanwhile')
    await answer(2n)
    t.same(await several, [true, true, true])
    t.same(reached, [1n, 2n, 2n, 2n])
    const behind = caughtUp(60_000)
    await answer(3n)
    t.equal(await behind, false, 'memory is behind')
    const told = noted(caughtUp(800))
    await clock.advance(799)
    t.strictSame(told, [])
    await clock.advance(1)
    t.strictSame(told, [false], 'no answer in time')
    const closing = close()
    await answer(4n)
    await answer(5n)
    await closing
  },
)
