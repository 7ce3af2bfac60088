import t from 'tap'
import { withTimeout } from '../../src/base/clock.ts'
import { noted } from '../noted.ts'
import { virtualClock } from '../virtual-clock.ts'

await t.test('a result within the time limit is returned, and the timer is cancelled', async (t) => {
  const clock = virtualClock()
  t.equal(await withTimeout(clock, 1_000, Promise.resolve('done'), () => 'late'), 'done')
  await t.rejects(
    withTimeout(clock, 1_000, Promise.reject(new Error('fails')), () => 'late'),
    { message: 'fails' },
  )
  const slow = noted(
    withTimeout(
      clock,
      1_000,
      clock.sleep(999).then(() => 'done'),
      () => 'late',
    ),
  )
  await clock.advance(999)
  t.strictSame(slow, ['done'])
  t.strictSame(clock.waiting(), [])
})

await t.test('after the time limit the fallback is returned or thrown, and a later result is dropped', async (t) => {
  const clock = virtualClock()
  const failing = clock.sleep(2_000).then(() => Promise.reject(new Error('dropped')))
  const said = noted(withTimeout(clock, 1_000, failing, () => 'late'))
  const thrown = noted(
    withTimeout(clock, 1_000, failing, () => {
      throw new Error('took too long')
    }),
  )
  await clock.advance(999)
  t.strictSame([said, thrown], [[], []])
  await clock.advance(1)
  t.strictSame(said, ['late'])
  t.match(thrown, [{ message: 'took too long' }])
  await clock.advance(1_000)
  t.strictSame([said.length, thrown.length], [1, 1])
})
