import t from 'tap'
import { eventClock } from '../../src/app/stores/event-clock.ts'
import { virtualClock } from '../virtual-clock.ts'

const HOUR = 3_600_000

/** Event clock on a virtual clock; `told` collects its log lines. */
const timed = () => {
  const clock = virtualClock()
  const told: string[] = []
  const tell = (level: string) => (record: object) =>
    void told.push(`${level} ${(record as { readonly ahead_seconds: number }).ahead_seconds}`)
  const logger = { info: tell('info'), warn: tell('warn'), error: tell('error') }
  const time = eventClock(clock, logger)
  /** Follows an event that is `ms` ahead of the clock. */
  const meet = (ms: number) => {
    const at = new Date(clock.now().getTime() + ms).toISOString()
    time.tap.onPage([{ time: at }])
  }
  return { ...time, clock, told, meet }
}

await t.test('a clock that jumps by more than one hour is detected', async (t) => {
  const { clock, ...time } = timed()
  const steady = time.steady()
  t.ok(steady())
  await clock.advance(100 * HOUR)
  t.ok(steady(), 'as time went, so went the clock')
  clock.jump(HOUR)
  t.ok(steady(), 'it was set a little')
  await clock.advance(HOUR)
  clock.jump(HOUR + 1)
  t.notOk(steady(), 'it jumped')
  await clock.advance(HOUR)
  t.ok(steady(), 'it stays there, so it may be right')
  clock.jump(-HOUR)
  t.ok(steady())
  clock.jump(-HOUR - 1)
  t.notOk(steady(), 'it jumped back')
})

await t.test('the time of an event counts as the present if it is at most one hour ahead of the clock', async (t) => {
  const { clock, meet, present, newest, aheadMs } = timed()
  t.equal(present(), clock.now())
  meet(HOUR)
  t.equal(present().getTime(), clock.now().getTime() + HOUR)
  t.equal(aheadMs(), HOUR)
  meet(HOUR + 1)
  t.equal(present(), clock.now())
  t.equal(newest().getTime(), clock.now().getTime() + HOUR + 1)
  await clock.advance(1)
  t.equal(present().getTime(), clock.now().getTime() + HOUR)
  await clock.advance(HOUR + 1)
  t.equal(present(), clock.now())
  t.equal(aheadMs(), 0)
})

await t.test('a clock that is 5 s behind the newest event causes a warning, from one hour on an error', async (t) => {
  const { clock, meet, told, present } = timed()
  meet(5_000)
  t.strictSame(told, [])
  meet(5_001)
  t.strictSame(told, ['warn 5'])
  meet(HOUR)
  t.strictSame(told, ['warn 5'], 'once')
  meet(HOUR + 1)
  t.strictSame(told.slice(1), ['error 3600'])
  await clock.advance(1)
  present()
  t.strictSame(told.slice(2), ['warn 3600'])
  await clock.advance(HOUR - 5_000)
  present()
  t.strictSame(told.slice(3), ['info 5'])
})
