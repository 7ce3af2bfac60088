import t from 'tap'
import { stallDetector } from '../../src/projections/engine/view-writer.ts'
import { virtualClock } from '../virtual-clock.ts'

const turning = () => {
  const clock = virtualClock()
  return { ...stallDetector(clock), pass: clock.advance }
}

await t.test('read models without pending work are not stalled', async (t) => {
  const { advancing, pass, begin } = turning()
  await pass(60_000)
  t.ok(advancing())
  begin()
  t.ok(advancing(), 'work that comes late has all its time')
  await pass(2_499)
  t.ok(advancing())
  await pass(1)
  t.notOk(advancing(), 'which is two and a half seconds')
})

await t.test('read models are stalled if pending work makes no progress', async (t) => {
  const { advancing, pass, begin, step, done } = turning()
  begin()
  for (let n = 0; n < 5; n++) {
    await pass(2_499)
    t.ok(advancing())
    step()
  }
  await pass(2_500)
  t.notOk(advancing())
  done(true)
  t.ok(advancing())
  await pass(2_500)
  t.notOk(advancing(), 'more was to be done')
  done(false)
  t.ok(advancing())
})

await t.test('a repeated step counts as no progress of the read models, and a later step does', async (t) => {
  const { advancing, pass, begin, step } = turning()
  begin()
  for (let n = 0; n < 3; n++) step()
  for (let tries = 0; tries < 3; tries++) {
    await pass(1_000)
    begin()
    for (let n = 0; n < 3; n++) step()
  }
  t.notOk(advancing())
  step()
  t.ok(advancing())
})
