import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { collect, happened, logContract } from '../../contracts/log.ts'
import { portOf } from './store.ts'

void t.test('the embedded event log passes the shared tests of every event log', async (t) =>
  logContract(t, (t) => portOf(t, 'log')),
)

void t.test('an event is read with the position at which it was stored, also after a gap', async (t) => {
  const { open, directory } = await portOf(t, 'log')
  const first = await open()
  for (let n = 0; n < 3; n++) {
    const events = Array.from({ length: 1000 }, (_, k) => happened(n * 1000 + k))
    await first.append(`test-${n}`, events, 'none')
  }
  await first.close()
  const file = await openDatabase(join(directory, 'events.sqlite'), 'durable')
  file.exec('drop trigger events_never_go')
  file.exec('delete from events where position = 1500 or position > 2100 and position < 2990')
  file.close()

  const log = await open()
  t.teardown(log.close)
  const whole = await collect(log.readAll(0n))
  t.equal(whole.length, 3000 - 1 - 889)
  t.ok(whole.every(({ data, position }) => data === JSON.stringify({ n: Number(position) - 1 })))
  t.same(
    (await collect(log.readAll(1499n, 1502n))).map(({ position }) => position),
    [1501n, 1502n],
  )
})
