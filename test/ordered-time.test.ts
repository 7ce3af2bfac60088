import t from 'tap'
import { orderedTime } from '../src/app/ordered-time.ts'
import { virtualClock } from './virtual-clock.ts'

const HOUR = 3_600_000
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

await t.test('a clock that jumps by more than an hour is told from one that goes', async (t) => {
  const clock = virtualClock()
  const steady = orderedTime(clock, silent).steady()
  t.ok(steady())
  await clock.advance(100 * HOUR)
  t.ok(steady(), 'as time went, so went the clock')
  clock.jump(HOUR / 2)
  t.ok(steady(), 'it was set a little')
  await clock.advance(HOUR)
  clock.jump(Date.UTC(2099, 0) - clock.now().getTime())
  t.notOk(steady(), 'it jumped')
  await clock.advance(HOUR)
  t.ok(steady(), 'it stays there, so it may be right')
  clock.jump(Date.UTC(2026, 0) - clock.now().getTime())
  t.notOk(steady(), 'it jumped back')
})
