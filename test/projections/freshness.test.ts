import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { freshness } from '../../src/projections/engine/freshness.ts'

const settle = () => new Promise((wake) => setTimeout(wake, 20))

await t.test(
  'fresh while the head was seen within the lease, by the time of asking and not of the answer',
  async (t) => {
    let time = 0
    let answer: (position: bigint) => void = () => {}
    const asked: number[] = []
    const head = () => {
      asked.push(time)
      return new Promise<bigint>((done) => (answer = done))
    }
    const { fresh, age, close } = freshness({
      head,
      seen: async () => true,
      leaseMs: 100,
      everyMs: 1,
      clock: { ...systemClock, monotonic: () => time },
    })
    t.notOk(fresh(), 'nothing is proven at first')
    time = 60
    answer(1n)
    await settle()
    t.ok(fresh())
    t.equal(age(), 60, 'the proof is as old as its question')
    time = 101
    t.notOk(fresh(), 'the lease runs out while the store says nothing')
    answer(2n)
    await settle()
    t.ok(fresh())
    t.ok(asked.length >= 2)
    answer(3n)
    const closing = close()
    answer(4n)
    await closing
  },
)

await t.test('a proof that took long is followed by the next one soon', async (t) => {
  let time = 0
  const asked: number[] = []
  const head = async () => {
    asked.push(time)
    time += 5_000
    return 1n
  }
  const { close } = freshness({
    head,
    seen: async () => true,
    everyMs: 5_000,
    clock: { ...systemClock, monotonic: () => time },
  })
  const until = performance.now() + 4_000
  while (asked.length < 2 && performance.now() < until) await settle()
  t.ok(asked.length >= 2, 'before the whole interval has passed again')
  await close()
})

await t.test('a store out of reach, and a head that memory has not reached, prove nothing', async (t) => {
  let time = 0
  const down = freshness({
    head: async () => Promise.reject(new Error('down')),
    seen: async () => true,
    everyMs: 1,
    clock: { ...systemClock, monotonic: () => time },
  })
  const behind = freshness({
    head: async () => 7n,
    seen: async () => false,
    everyMs: 1,
    clock: { ...systemClock, monotonic: () => time },
  })
  await settle()
  time = 1
  t.notOk(down.fresh())
  t.notOk(behind.fresh())
  await down.close()
  await behind.close()
})

await t.test('with a log out of reach nobody is caught up, and who asks meanwhile asks again', async (t) => {
  let asked = 0
  let fail: (error: Error) => void = () => {}
  const head = () => {
    asked++
    return new Promise<bigint>((_, failed) => (fail = failed))
  }
  const { caughtUp, close } = freshness({ head, seen: async () => true, everyMs: 1_000_000, clock: systemClock })
  const meanwhile = caughtUp(60_000)
  fail(new Error('down'))
  await settle()
  t.equal(asked, 2)
  fail(new Error('still down'))
  t.equal(await meanwhile, false)
  const next = caughtUp(60_000)
  fail(new Error('down again'))
  t.equal(await next, false)
  await close()
})

await t.test(
  'who asks to be caught up is told of the head as it was afterwards, and many who ask share a reading',
  async (t) => {
    let asked = 0
    let answer: (position: bigint) => void = () => {}
    const head = () => {
      asked++
      return new Promise<bigint>((done) => (answer = done))
    }
    const reached: bigint[] = []
    const seen = async (position: bigint) => {
      reached.push(position)
      return position <= 2n
    }
    const { caughtUp, close } = freshness({ head, seen, everyMs: 1_000_000, clock: systemClock })
    const several = Promise.all([caughtUp(60_000), caughtUp(60_000), caughtUp(60_000)])
    t.equal(asked, 1, 'the reading that the lease began is under way')
    answer(1n)
    await settle()
    t.equal(asked, 2, 'one more for all who came meanwhile')
    answer(2n)
    t.same(await several, [true, true, true])
    t.same(reached, [1n, 2n, 2n, 2n])
    const behind = caughtUp(60_000)
    answer(3n)
    t.equal(await behind, false, 'memory is behind')
    t.equal(await caughtUp(5), false, 'no answer in time')
    answer(4n)
    await close()
  },
)
