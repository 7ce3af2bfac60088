import { MongoServerError } from 'mongodb'
import t from 'tap'
import { driverLimits } from '../../../src/adapters/mongodb/address.ts'
import { mongoCalls, patience } from '../../../src/adapters/mongodb/calls.ts'
import { Refusal } from '../../../src/base/errors.ts'
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
  ['bulk', 10_000],
  ['connect', 10_000],
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

await t.test('the MongoDB driver has a time limit of its own for each step of a call', (t) => {
  t.strictSame(driverLimits, {
    serverSelectionTimeoutMS: 1400,
    connectTimeoutMS: 5000,
    socketTimeoutMS: 12_000,
    waitQueueTimeoutMS: 1400,
    heartbeatFrequencyMS: 2000,
  })
  for (const limit of ['serverSelectionTimeoutMS', 'waitQueueTimeoutMS'] as const)
    t.ok(driverLimits[limit] < patience.read, limit)
  t.ok(driverLimits.connectTimeoutMS > patience.write, 'a slow heartbeat ends no call that is in time')
  t.ok(driverLimits.connectTimeoutMS < patience.connect)
  t.ok(driverLimits.socketTimeoutMS > patience.batch, 'but a connection lives as long as the longest call')
  // TCP, TLS, the first command and SCRAM need seven round trips.
  t.ok(driverLimits.waitQueueTimeoutMS > 7 * 150, 'a connection can be made at a round trip of 150 ms')
  t.end()
})

await t.test('writes without an answer leave connections for reads, and are not sent after their end', async (t) => {
  const clock = virtualClock()
  const calls = mongoCalls(clock, 3)
  const answers: (() => void)[] = []
  let sent = 0
  const write = (kind: 'write' | 'bulk') =>
    outcomeOf(
      calls.call(kind, () => {
        sent++
        return new Promise<void>((answer) => answers.push(answer))
      }),
    )
  const writes = Array.from({ length: 30 }, () => write('write'))
  const bulk = write('bulk')
  await clock.settle()
  t.equal(sent, 3)
  t.equal(await calls.call('read', async () => 'there'), 'there')
  await clock.advance(2_000)
  for (const { outcome } of writes) t.match(outcome, new Refusal('backend_unavailable'))
  t.equal(bulk.outcome, undefined)
  t.equal(sent, 3, 'the places of writes under way are taken')
  const late = write('write')
  for (const answer of answers) answer()
  await clock.settle()
  t.equal(sent, 5, 'the bulk and the new write are sent, none of the refused ones')
  await calls.close(async () => undefined)
  t.equal(late.outcome, undefined)
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
