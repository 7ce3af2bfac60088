import { MongoServerError } from 'mongodb'
import t from 'tap'
import { mongoCalls, patience } from '../../../src/adapters/mongodb/calls.ts'
import { driverLimits } from '../../../src/adapters/mongodb/open.ts'
import { Refusal } from '../../../src/errors.ts'
import { virtualClock } from '../../virtual-clock.ts'

const never = new Promise<never>(() => undefined)
const outcomeOf = (work: Promise<unknown>) => {
  const seen: { outcome?: unknown } = {}
  work.then(
    (value) => (seen.outcome = value),
    (error: unknown) => (seen.outcome = error),
  )
  return seen
}

for (const [kind, ms] of [
  ['read', 1_500],
  ['whole', 1_900],
  ['write', 2_000],
  ['batch', 10_000],
] as const)
  await t.test(`a MongoDB call of the kind ${kind} is refused and aborted after ${ms} ms`, async (t) => {
    const clock = virtualClock()
    let told: AbortSignal | undefined
    const call = mongoCalls(clock).call(kind, ({ signal, maxTimeMS }) => {
      told = signal
      t.equal(maxTimeMS, undefined, 'a server does not measure by this clock')
      return never
    })
    const seen = outcomeOf(call)
    await clock.advance(ms - 1)
    t.same([seen.outcome, told?.aborted], [undefined, false])
    await clock.advance(1)
    t.match(seen.outcome, new Refusal('backend_unavailable'))
    t.match((seen.outcome as Error).cause, { message: `MongoDB did not answer within ${ms} ms` })
    t.equal(told?.reason, (seen.outcome as Error).cause)
    t.same(clock.waiting(), [])
  })

await t.test('an answer of MongoDB in the last millisecond is returned, and no timer is left', async (t) => {
  const clock = virtualClock()
  const seen = outcomeOf(mongoCalls(clock).call('read', () => clock.sleep(1_499).then(() => 'there')))
  await clock.advance(1_499)
  t.equal(seen.outcome, 'there')
  t.same(clock.waiting(), [])
})

await t.test('every error of MongoDB gives the same refusal, and a closed connection refuses all calls', async (t) => {
  const calls = mongoCalls(virtualClock())
  const cause = new MongoServerError({ message: 'no primary', code: 10107 })
  const refused = await calls.call('read', () => Promise.reject(cause)).catch((error: unknown) => error)
  t.match(refused, new Refusal('backend_unavailable'))
  t.equal((refused as Error).cause, cause)
  await calls.close(async () => undefined)
  let asked = 0
  await t.rejects(
    calls.call('read', async () => void asked++),
    new Refusal('backend_unavailable'),
  )
  t.equal(asked, 0)
})

await t.test('the timeouts of the MongoDB driver are shorter than those of the service', (t) => {
  t.strictSame(driverLimits, {
    serverSelectionTimeoutMS: 1000,
    connectTimeoutMS: 1000,
    socketTimeoutMS: 12_000,
    waitQueueTimeoutMS: 500,
    heartbeatFrequencyMS: 2000,
  })
  for (const limit of ['serverSelectionTimeoutMS', 'connectTimeoutMS', 'waitQueueTimeoutMS'] as const)
    t.ok(driverLimits[limit] < patience.read, limit)
  t.ok(driverLimits.socketTimeoutMS > patience.batch, 'but a connection lives as long as the longest call')
  t.end()
})

await t.test('closing the connection waits 2 s for a server that does not answer', async (t) => {
  const clock = virtualClock()
  const seen = outcomeOf(
    mongoCalls(clock)
      .close(() => never)
      .then(() => 'closed'),
  )
  await clock.advance(1_999)
  t.equal(seen.outcome, undefined)
  await clock.advance(1)
  t.equal(seen.outcome, 'closed')
})
