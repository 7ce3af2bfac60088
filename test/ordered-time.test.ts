import t from 'tap'
import { orderedTime } from '../src/app/ordered-time.ts'

const HOUR = 3_600_000
const silent = { info: () => undefined, warn: () => undefined, error: () => undefined }

await t.test('a clock that jumps by more than an hour is told from one that goes', async (t) => {
  let [wall, ran] = [Date.UTC(2026, 0), 0]
  const steady = orderedTime(
    () => new Date(wall),
    silent,
    () => ran,
  ).steady()
  const pass = (ms: number) => {
    wall += ms
    ran += ms
  }
  t.ok(steady())
  pass(100 * HOUR)
  t.ok(steady(), 'as time went, so went the clock')
  wall += HOUR / 2
  t.ok(steady(), 'it was set a little')
  pass(HOUR)
  wall = Date.UTC(2099, 0)
  t.notOk(steady(), 'it jumped')
  pass(HOUR)
  t.ok(steady(), 'it stays there, so it may be right')
  wall = Date.UTC(2026, 0)
  t.notOk(steady(), 'it jumped back')
})
