import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { turn } from '../../src/projections/engine/turn.ts'

/** A turn by a clock that stands until it is told to go on. */
const turning = () => {
  let now = 0
  const made = turn({ ...systemClock, monotonic: () => now })
  return { ...made, pass: (ms: number) => void (now += ms) }
}

await t.test('without work there is nothing to get on with', async (t) => {
  const { advancing, pass, begin } = turning()
  pass(60_000)
  t.ok(advancing())
  begin()
  t.ok(advancing(), 'work that comes late has all its time')
})

await t.test('work without a step is stuck, and one that is done goes on', async (t) => {
  const { advancing, pass, begin, step, done } = turning()
  begin()
  for (let n = 0; n < 5; n++) {
    pass(2_000)
    t.ok(advancing())
    step()
  }
  pass(3_000)
  t.notOk(advancing())
  done(true)
  t.ok(advancing())
  pass(3_000)
  t.notOk(advancing(), 'more was to be done')
  done(false)
  t.ok(advancing())
})

await t.test('steps that are done again after a fault do not count, those beyond them do', async (t) => {
  const { advancing, pass, begin, step } = turning()
  begin()
  for (let n = 0; n < 3; n++) step()
  for (let tries = 0; tries < 3; tries++) {
    pass(1_000)
    begin()
    for (let n = 0; n < 3; n++) step()
  }
  t.notOk(advancing())
  step()
  t.ok(advancing())
})
