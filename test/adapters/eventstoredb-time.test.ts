import { EventEmitter } from 'node:events'
import type { Credentials } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { appender } from '../../src/adapters/eventstoredb/append.ts'
import type { Driver } from '../../src/adapters/eventstoredb/connection.ts'
import {
  type Connection,
  connection,
  type Lane,
  patiently,
  pause,
  type Read,
  readUntil,
} from '../../src/adapters/eventstoredb/connection.ts'
import { otherPrefix } from '../../src/adapters/eventstoredb/open.ts'
import type { Reader } from '../../src/adapters/eventstoredb/read.ts'
import { happened } from '../contracts/log.ts'
import { virtualClock } from '../virtual-clock.ts'

const [DEADLINE, PATIENCE] = [1_500, 10_000]
/** Timeout of a call in ms, including the time for discovery. */
const LIMIT = 1_750

/** Fixes random pauses to this share of their maximum. */
const drawn = (t: Test, share: number) => t.intercept(Math, 'random', { value: () => share })

/** State of a promise: `'waits'`, its value, or the type or message of its error. */
const outcomeOf = (work: Promise<unknown>) => {
  const seen: { now: unknown } = { now: 'waits' }
  work.then(
    (value) => (seen.now = value),
    (error: { readonly type?: unknown; readonly reason?: unknown; readonly message: string }) =>
      (seen.now = error.type ?? error.reason ?? error.message),
  )
  return seen
}
const never = () => new Promise<never>(() => {})

/** A connection over clients that the test controls. */
const connected = (patience = PATIENCE) => {
  const clock = virtualClock()
  const told = { made: 0, renewed: 0, broken: 0 }
  const nothing = async () => undefined
  const connectionString = () => {
    told.made++
    return { execute: nothing, handleError: nothing, resolveUri: nothing, getChannel: never, dispose: nothing }
  }
  const made = connection({
    driver: { EventStoreDBClient: { connectionString } } as unknown as Driver,
    clock,
    url: 'esdb://127.0.0.1?tls=false',
    deadline: DEADLINE,
    patience,
    onRenewed: () => told.renewed++,
    onBreak: () => told.broken++,
  })
  return { ...made, clock, told }
}
/** A read that delivers events of the test. */
const fed = () => {
  let cancelled = 0
  const read = Object.assign(new EventEmitter(), { cancel: async () => void cancelled++ })
  return { start: () => read as unknown as Read, read, cancelled: () => cancelled }
}

await t.test('a call times out 250 ms after its deadline, and a later answer is discarded', async (t) => {
  const { call, clock } = connected()
  let answer: (value: string) => void = () => {}
  const asked = outcomeOf(call(() => new Promise((resolve) => (answer = resolve))))
  await clock.advance(LIMIT - 1)
  t.equal(asked.now, 'waits')
  await clock.advance(1)
  t.equal(asked.now, 'deadline-exceeded')
  answer('late')
  await clock.settle()
  t.equal(asked.now, 'deadline-exceeded')
  const quick = outcomeOf(call(async () => 'at once'))
  await clock.settle()
  t.equal(quick.now, 'at once')
  t.same(clock.waiting(), [], 'a call that was answered leaves no timer')
})

await t.test('the client of EventStoreDB is replaced after two timeouts in a row', async (t) => {
  const { call, clock, told } = connected()
  const expire = async () => {
    outcomeOf(call(never))
    await clock.advance(LIMIT)
  }
  const answer = () => outcomeOf(call(async () => 'there'))
  const fail = (code: number) => outcomeOf(call(() => Promise.reject(Object.assign(new Error('no'), { code }))))
  for (const between of [answer, () => fail(9), () => fail(14)]) {
    await expire()
    between()
    await clock.settle()
    await expire()
    t.same([told.made, told.renewed], [1, 0])
    answer()
    await clock.settle()
  }
  t.equal(told.broken, 1, 'a server out of reach is told of')
  await expire()
  await expire()
  t.same([told.made, told.renewed], [2, 1])
  await expire()
  t.same([told.made, told.renewed], [2, 1], 'the new client begins with none')
})

await t.test('timeouts of a replaced client of EventStoreDB do not count for the new client', async (t) => {
  const { call, clock, told } = connected()
  outcomeOf(call(never))
  outcomeOf(call(never))
  await clock.advance(LIMIT - 1)
  outcomeOf(call(never))
  await clock.advance(1)
  t.equal(told.renewed, 1)
  await clock.advance(LIMIT - 1)
  outcomeOf(call(never))
  await clock.advance(LIMIT)
  t.equal(told.renewed, 1)
})

await t.test('a read times out 1,750 ms after its last event, however long it takes in total', async (t) => {
  const { gather, clock } = connected()
  const { start, read, cancelled } = fed()
  let taken = 0
  const asked = outcomeOf(gather('log', start, () => (taken++, false)))
  await clock.settle()
  for (let n = 0; n < 3; n++) {
    await clock.advance(LIMIT - 1)
    read.emit('data', {})
  }
  await clock.advance(LIMIT - 1)
  t.same([asked.now, taken, cancelled()], ['waits', 3, 0])
  await clock.advance(1)
  t.same([asked.now, cancelled()], ['deadline-exceeded', 1])
  read.emit('data', {})
  t.equal(taken, 3, 'what comes after is not taken')
  t.same(clock.waiting(), [])
})

await t.test('events that arrived while the process was busy are processed before a read can time out', async (t) => {
  const clock = virtualClock()
  const { read, cancelled } = fed()
  // The first timer is due when the process continues. The event waits on the socket and arrives in the same turn.
  let busy = true
  const after: typeof clock.after = (ms, work) =>
    clock.after(ms, () => {
      if (busy) setImmediate(() => read.emit('data', {}))
      busy = false
      work()
    })
  let taken = 0
  const take = () => (taken++, false)
  const asked = outcomeOf(readUntil({ ...clock, after }, read as unknown as Read, take, () => true, LIMIT))
  await clock.advance(LIMIT)
  t.same([asked.now, taken], ['waits', 1])
  await clock.advance(LIMIT - 1)
  t.same([asked.now, cancelled()], ['waits', 0], 'and from then on it has its time again')
  await clock.advance(1)
  t.same([asked.now, cancelled()], ['deadline-exceeded', 1])
})

await t.test('a read ends when it has enough events, rejects with its error, and leaves no timer', async (t) => {
  const { gather, clock } = connected()
  const [enough, ended, failed, thrown] = [fed(), fed(), fed(), fed()]
  const asked = [enough, ended, failed].map(({ start }) => outcomeOf(gather('log', start, () => true)))
  const threw = outcomeOf(
    gather('log', thrown.start, () => {
      throw new Error('not to be read')
    }),
  )
  await clock.settle()
  enough.read.emit('data', {})
  ended.read.emit('end')
  failed.read.emit('error', new Error('torn'))
  thrown.read.emit('data', {})
  await clock.settle()
  t.same(
    [...asked, threw].map(({ now }) => now),
    [undefined, undefined, 'torn', 'not to be read'],
  )
  t.same(clock.waiting(), [])
})

for (const [lane, places, limit] of [
  ['head', 4, DEADLINE],
  ['log', 6, 900],
  ['stream', 20, 900],
] as const satisfies readonly (readonly [Lane, number, number])[])
  await t.test(`at most ${places} reads of the kind ${lane} run at once, and the next waits ${limit} ms`, async (t) => {
    const { gather, clock } = connected(900)
    let started = 0
    const reading = () => {
      const { start, read } = fed()
      const asked = outcomeOf(
        gather(
          lane,
          () => (started++, start()),
          () => true,
        ),
      )
      return { read, asked }
    }
    const there = Array.from({ length: places }, reading)
    const [one, two] = [reading(), reading()]
    await clock.settle()
    t.equal(started, places)
    await clock.advance(limit - 1)
    there[0]!.read.emit('end')
    await clock.settle()
    t.equal(started, places + 1, 'a place that is left goes to the first of the line')
    t.equal(two.asked.now, 'waits')
    await clock.advance(1)
    t.equal(two.asked.now, 'too many reads wait for the connection to EventStoreDB')
    t.equal(one.asked.now, 'waits')
  })

await t.test('a random pause lasts between a quarter of its maximum and its maximum', async (t) => {
  const clock = virtualClock()
  for (const [share, ms] of [
    [0, 50],
    [0.5, 125],
    [1, 200],
  ] as const) {
    drawn(t, share)
    const waiting = pause(clock)
    t.same(clock.waiting(), [ms])
    await clock.advance(ms)
    await waiting
  }
})

await t.test('a failed call is repeated until less than 100 ms are left, then refused', async (t) => {
  drawn(t, 1)
  const clock = virtualClock()
  const tries: number[] = []
  const asked = outcomeOf(
    patiently(clock, PATIENCE, async () => {
      tries.push(clock.monotonic())
      throw new Error('away')
    }),
  )
  await clock.advance(PATIENCE - 1)
  t.equal(asked.now, 'waits')
  t.same(
    tries,
    Array.from({ length: 50 }, (_, n) => n * 200),
  )
  await clock.advance(1)
  t.equal(asked.now, 'backend_unavailable')
  t.equal(tries.length, 51)

  for (const [ms, outcome] of [
    [9_900, 'waits'],
    [9_901, 'backend_unavailable'],
  ] as const) {
    const late = outcomeOf(
      patiently(clock, PATIENCE, async () => {
        await clock.sleep(ms)
        throw new Error('away')
      }),
    )
    await clock.advance(ms)
    t.equal(late.now, outcome, `a try that took ${ms} ms`)
  }
})

await t.test('a call with a final answer is not repeated', async (t) => {
  const clock = virtualClock()
  for (const [error, outcome] of [
    [Object.assign(new Error('gone'), { type: 'stream-deleted' }), 'damaged'],
    [Object.assign(new Error('who are you'), { type: 'access-denied' }), 'backend_unavailable'],
  ] as const) {
    const asked = outcomeOf(patiently(clock, PATIENCE, () => Promise.reject(error)))
    await clock.settle()
    t.equal(asked.now, outcome)
  }
  t.same(clock.waiting(), [])
})

/** An appender whose calls the test answers. */
const appending = (send: () => Promise<unknown>, some: Reader['some'] = async () => []) => {
  const clock = virtualClock()
  const stop = new AbortController()
  const sent: number[] = []
  const call = () => (sent.push(clock.monotonic()), send())
  const { append } = appender({
    connection: { call } as unknown as Connection,
    clock,
    reader: { some } as Reader,
    credentials: {} as Credentials,
    patience: PATIENCE,
    inFlight: 10,
    closing: stop.signal,
  })
  return { clock, sent, close: () => stop.abort(), append: () => outcomeOf(append('test-1', [happened(1)], 'none')) }
}

for (const [took, tries] of [
  [0, 26],
  [1, 25],
] as const)
  await t.test(`an append is repeated every 400 ms for 10 s: ${tries} times after ${took} ms`, async (t) => {
    drawn(t, 1)
    const unanswered = async () => {
      if (sent.length === 1) await clock.sleep(took)
      throw Object.assign(new Error('no'), { code: 14 })
    }
    const { append, clock, sent } = appending(unanswered)
    const asked = append()
    await clock.settle()
    await clock.advance(took + tries * 400 - 1)
    t.equal(asked.now, 'waits')
    t.same(
      sent,
      Array.from({ length: tries }, (_, n) => n && n * 400 + took),
      'none after the end of the patience',
    )
    await clock.advance(1)
    t.equal(asked.now, 'backend_unavailable')
    t.equal(sent.length, tries)
  })

await t.test('an append is not repeated after the log closes', async (t) => {
  drawn(t, 1)
  const { append, clock, sent, close } = appending(() => Promise.reject(Object.assign(new Error('no'), { code: 14 })))
  const asked = append()
  await clock.settle()
  await clock.advance(399)
  close()
  await clock.settle()
  t.equal(asked.now, 'waits')
  await clock.advance(1)
  t.same([asked.now, sent.length], ['backend_unavailable', 1])
})

await t.test('an error "wrong version" that a read does not confirm is checked again after one pause', async (t) => {
  drawn(t, 1)
  const wrong = Object.assign(new Error('no'), { type: 'wrong-expected-version', actualVersion: 7n })
  const { append, clock, sent } = appending(() => Promise.reject(wrong))
  append()
  await clock.settle()
  await clock.advance(1_000)
  t.same(sent, [0, 200, 400, 600, 800, 1_000])
})

await t.test('the search for another stream prefix is repeated for 10 s, until 100 ms are left', async (t) => {
  for (const [ms, outcome] of [
    [9_900, 'waits'],
    [9_901, 'backend_unavailable'],
  ] as const) {
    const clock = virtualClock()
    const gather = async () => {
      await clock.sleep(ms)
      throw new Error('away')
    }
    const asked = outcomeOf(otherPrefix({ gather } as unknown as Connection, clock, ['test'], ''))
    await clock.advance(ms)
    t.equal(asked.now, outcome)
  }
})
