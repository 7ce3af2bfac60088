import t from 'tap'
import { systemClock } from '../src/base/clock.ts'
import { virtualClock } from './virtual-clock.ts'

await t.test('timers of the virtual clock fire in order, each after the effects of the one before', async (t) => {
  const clock = virtualClock()
  const seen: string[] = []
  const note = (what: string) => void seen.push(`${what} ${clock.monotonic()}`)
  clock.after(20, () => note('b'))
  clock.after(10, () => {
    note('a')
    void clock.sleep(5).then(() => note('a, later'))
  })
  clock.after(20, () => note('c'))
  const ticks = clock.every(8, () => note('tick'))
  await clock.advance(9)
  t.strictSame(seen, ['tick 8'])
  await clock.advance(11)
  t.strictSame(seen, ['tick 8', 'a 10', 'a, later 15', 'tick 16', 'b 20', 'c 20'])
  t.strictSame(clock.waiting(), [4])
  ticks.cancel()
  await clock.advance(1_000)
  t.equal(seen.length, 6)
  t.strictSame(clock.waiting(), [])
})

await t.test('concurrent advances of the virtual clock run one after another', async (t) => {
  const clock = virtualClock()
  const seen: number[] = []
  clock.every(1, () => seen.push(clock.monotonic()))
  await Promise.all([clock.advance(3), clock.advance(1), clock.advance(2)])
  t.strictSame(seen, [1, 2, 3, 4, 5, 6])
  t.equal(clock.monotonic(), 6)
})

await t.test('a cancelled timer of the virtual clock does not fire', async (t) => {
  const clock = virtualClock()
  const done: string[] = []
  const timer = clock.after(10, () => done.push('after')).unref()
  timer.cancel()
  const stop = new AbortController()
  const sleeping = clock.sleep(10, stop.signal).then(() => done.push('woken'))
  stop.abort()
  await sleeping
  await clock.sleep(10, stop.signal)
  await clock.advance(100)
  t.strictSame(done, ['woken'])
})

await t.test('a timeout of the virtual clock aborts like that of the system clock', async (t) => {
  const clock = virtualClock()
  const signal = clock.timeout(5_000)
  await clock.advance(4_999)
  t.equal(signal.aborted, false)
  await clock.advance(1)
  const real = systemClock.timeout(0)
  while (!real.aborted) await systemClock.sleep(1)
  t.equal((signal.reason as Error).name, (real.reason as Error).name)
  t.equal((signal.reason as Error).message, (real.reason as Error).message)
})

await t.test('the virtual wall clock advances with the monotonic one, and can jump on its own', async (t) => {
  const clock = virtualClock('2026-02-03T04:05:06.000Z')
  t.equal(clock.now(), clock.now(), 'the same object within a millisecond')
  await clock.advance(1_500)
  t.equal(clock.now().toISOString(), '2026-02-03T04:05:07.500Z')
  clock.jump(-3_600_000)
  t.equal(clock.now().toISOString(), '2026-02-03T03:05:07.500Z')
  t.equal(clock.monotonic(), 1_500)
})

await t.test('the system clock behaves like the virtual clock', async (t) => {
  const before = systemClock.monotonic()
  const done: string[] = []
  systemClock.after(3_600_000, () => done.push('never')).cancel()
  const ticks = systemClock.every(1, () => done.push('tick'))
  await systemClock.sleep(1)
  while (!done.includes('tick')) await systemClock.sleep(1)
  ticks.cancel()
  await systemClock.sleep(3_600_000, AbortSignal.abort())
  t.ok(systemClock.monotonic() > before)
  t.ok(Math.abs(systemClock.now().getTime() - Date.now()) < 60_000)
  t.notOk(done.includes('never'))
})

await t.test('a timer sums fractions of milliseconds without losing a millisecond', async (t) => {
  const clock = virtualClock('2026-11-25T23:00:00.000Z')
  for (let n = 0; n < 1_000; n++) await clock.advance(0.7)
  t.equal(clock.now().toISOString(), '2026-11-25T23:00:00.700Z')
})

await t.test('a timer of the system clock that is set to 100 years waits', async (t) => {
  const warned: string[] = []
  const warn = ({ name }: Error) => void warned.push(name)
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const fired: string[] = []
  const years = 876_000 * 3_600_000
  for (const ms of [2 ** 31, 2 ** 32, years, Number.POSITIVE_INFINITY]) {
    const stop = new AbortController()
    const timers = [
      systemClock.after(ms, () => fired.push(`after ${ms}`)).unref(),
      systemClock.every(ms, () => fired.push(`every ${ms}`)),
    ]
    const sleeping = systemClock.sleep(ms, stop.signal)
    const late = systemClock.timeout(ms)
    for (let n = 0; n < 10; n++) await systemClock.sleep(1)
    t.strictSame(fired, [])
    t.equal(late.aborted, false)
    for (const timer of timers) timer.cancel()
    stop.abort()
    await sleeping
  }
  t.strictSame(warned, [], 'Node.js cut no timer itself')
})
