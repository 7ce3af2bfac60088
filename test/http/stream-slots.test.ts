import t from 'tap'
import { Refusal } from '../../src/base/errors.ts'
import { streamSlots } from '../../src/http/memory/stream-slots.ts'

await t.test('streams of the history are counted by holder, and half of them are reserved for auditors', (t) => {
  const slots = streamSlots(32)
  const reader = (n: number) => ({ holder: `reader ${n}`, isAuditor: false })
  const leases = Array.from({ length: 16 }, (_, n) => slots.enter(reader(n % 4)))
  t.throws(() => slots.enter(reader(0)), new Refusal('rate_limited'), 'the fifth of one holder')
  t.throws(() => slots.enter(reader(4)), new Refusal('history_busy'), 'more than half of all')
  for (let n = 0; n < 16; n++) slots.enter({ holder: `reader ${n % 4}`, isAuditor: true })
  t.equal(slots.running(), 32)
  t.throws(() => slots.enter({ holder: 'reader 4', isAuditor: true }), new Refusal('history_busy'))
  for (const { free } of leases) free()
  t.equal(slots.running(), 16)
  t.ok(slots.enter(reader(4)))
  t.end()
})
