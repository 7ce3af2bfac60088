import { EventEmitter } from 'node:events'
import type { AllStreamSubscription } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import type { Connection, Driver } from '../../src/adapters/eventstoredb/connection.ts'
import { follower, liveFrom } from '../../src/adapters/eventstoredb/follow.ts'
import type { Reader } from '../../src/adapters/eventstoredb/read.ts'
import { virtualClock } from '../virtual-clock.ts'
import { recordedAt } from './eventstoredb-recorded.ts'

/** A subscription that delivers events of the test. */
const fed = () => {
  let left = 0
  const subscription = Object.assign(new EventEmitter(), { unsubscribe: async () => void left++ })
  return {
    subscription: subscription as unknown as AllStreamSubscription,
    say: (what: 'confirmation' | 'close') => subscription.emit(what),
    fail: (error: Error) => subscription.emit('error', error),
    deliver: (position: bigint) => subscription.emit('data', recordedAt(position)),
    left: () => left,
  }
}

/** A watched subscription from the start of a log with this head. */
const watched = () => {
  const clock = virtualClock()
  const told = { head: 0n, asked: 0, silences: 0 }
  const source = fed()
  const reader = { head: async () => (told.asked++, told.head) } as Reader
  const stop = new AbortController()
  const live = liveFrom(0n, stop.signal, {
    subscription: source.subscription,
    clock,
    reader,
    isOwn: () => true,
    onSilence: () => told.silences++,
  })
  return { ...source, clock, told, live, stop }
}

await t.test('a subscription that the server does not confirm within 1 s is replaced', async (t) => {
  const { clock, told, live, left } = watched()
  await clock.advance(999)
  t.same([told.silences, left()], [0, 0])
  await clock.advance(1)
  t.same([told.silences, left()], [1, 1])
  t.match(live.failure(), { message: 'EventStoreDB did not confirm the subscription' })
  t.equal(live.confirmed(), false)
  t.equal(await live.take(), undefined)
  t.same(clock.waiting(), [], 'and leaves no timer')
})

await t.test('a subscription without events is compared with the end of the log every 500 ms', async (t) => {
  const { clock, told, live, say } = watched()
  say('confirmation')
  await clock.advance(499)
  t.equal(told.asked, 0)
  await clock.advance(1)
  t.same([told.asked, told.silences], [1, 0])
  await clock.advance(10 * 500)
  t.same([told.asked, told.silences], [11, 0], 'the log has nothing to say either')
  told.head = 7n
  await clock.advance(500)
  t.equal(told.asked, 12)
  await clock.advance(499)
  t.equal(told.silences, 0)
  await clock.advance(1)
  t.equal(told.silences, 1)
  t.match(live.failure(), { message: 'the subscription is silent' })
})

await t.test('a subscription counts as broken if an event of the log is 500 ms late', async (t) => {
  const { clock, told, say, deliver } = watched()
  say('confirmation')
  told.head = 7n
  await clock.advance(999)
  deliver(7n)
  await clock.advance(1_000)
  t.same([told.asked, told.silences], [2, 0])
})

await t.test('within 500 ms after an event the subscription is not compared with the end of the log', async (t) => {
  const { clock, told, say, deliver } = watched()
  say('confirmation')
  await clock.advance(499)
  deliver(1n)
  await clock.advance(2)
  deliver(2n)
  await clock.advance(499)
  t.equal(told.asked, 0, 'heard 1 ms before the first look and 499 ms before the second')
  deliver(3n)
  await clock.advance(500)
  t.equal(told.asked, 1, 'heard 500 ms before the third')
})

await t.test('if the end of the log cannot be read, the subscription is checked at the next interval', async (t) => {
  const { clock, told, say } = watched()
  say('confirmation')
  Object.defineProperty(told, 'head', {
    get: () => {
      throw new Error('away')
    },
  })
  await clock.advance(3 * 500)
  t.same([told.asked, told.silences], [3, 0])
})

await t.test('a stopped subscription delivers no event and sets no timer', async (t) => {
  const { clock, told, say, stop, left } = watched()
  say('confirmation')
  told.head = 7n
  await clock.advance(600)
  stop.abort()
  await clock.advance(5_000)
  t.same([told.asked, told.silences, left()], [1, 0, 1])
  t.same(clock.waiting(), [])
})

/** A follower from the start of a log. The test supplies the head and feeds each subscription. */
const followed = (t: Test, head: () => Promise<bigint>) => {
  t.intercept(Math, 'random', { value: () => 1 })
  const clock = virtualClock()
  const told = { asked: [] as number[], errors: [] as unknown[], renewed: 0, restarts: 0, breaks: 0 }
  const sources: ReturnType<typeof fed>[] = []
  const client = {
    subscribeToAll: () => {
      const source = fed()
      sources.push(source)
      return source.subscription
    },
  }
  const follow = follower({
    driver: { streamNameFilter: () => ({}) } as unknown as Driver,
    clock,
    connection: { client: () => client, renew: () => told.renewed++ } as unknown as Connection,
    reader: {
      readAll: async function* () {},
      head: () => (told.asked.push(clock.monotonic()), head()),
    } as unknown as Reader,
    prefixes: ['test-'],
    isOwn: () => true,
    onError: (error) => told.errors.push(error),
    onRestart: () => told.restarts++,
    onBreak: () => told.breaks++,
  })
  const stop = new AbortController()
  const seen: bigint[] = []
  const ended = (async () => {
    for await (const page of follow(0n, stop.signal)) seen.push(...page.map(({ position }) => position))
  })()
  return { clock, told, sources, seen, stop: async () => (stop.abort(), ended) }
}

await t.test('a subscription is repeated 100, 200, then 400 ms after failures, which are reported once', async (t) => {
  const { clock, told, stop } = followed(t, () => Promise.reject(new Error('away')))
  await clock.advance(2_000)
  t.same(told.asked, [0, 100, 300, 700, 1_100, 1_500, 1_900])
  t.match(told.errors, [{ message: 'away' }])
  await stop()
  t.same(clock.waiting(), [], 'one that is stopped waits no longer')
})

await t.test('an event that arrives resets the failure count of its subscription', async (t) => {
  const { clock, told, sources, seen, stop } = followed(t, async () => 0n)
  await clock.settle()
  sources[0]!.fail(new Error('torn'))
  await clock.advance(100)
  sources[1]!.fail(new Error('torn'))
  await clock.advance(199)
  t.equal(sources.length, 2)
  await clock.advance(1)
  sources[2]!.say('confirmation')
  sources[2]!.deliver(7n)
  await clock.settle()
  sources[2]!.fail(new Error('torn again'))
  await clock.advance(99)
  t.equal(sources.length, 3)
  await clock.advance(1)
  t.equal(sources.length, 4)
  t.same(seen, [7n])
  t.match(told.errors, [{ message: 'torn' }, { message: 'torn again' }])
  t.same([told.restarts, told.breaks, told.renewed], [3, 3, 0])
  await stop()
})

await t.test('a subscription that was dropped because it was slow resumes after 50 ms without an error', async (t) => {
  const { clock, told, sources, stop } = followed(t, async () => 0n)
  for (let n = 0; n < 5; n++) {
    await clock.settle()
    sources[n]!.say('confirmation')
    sources[n]!.fail(Object.assign(new Error('too slow'), { type: 'timeout' }))
    await clock.advance(49)
    t.equal(sources.length, n + 1)
    await clock.advance(1)
    t.equal(sources.length, n + 2)
  }
  t.same(told.errors, [])
  await stop()
})

await t.test('a hanging subscription is replaced within 1,400 ms, before the instance loses its lease', async (t) => {
  const { clock, told, sources, stop } = followed(t, async () => 0n)
  await clock.settle()
  for (const [n, rest] of [100, 200, 400, 400, 400].entries()) {
    await clock.advance(999)
    t.equal(told.renewed, n)
    await clock.advance(1)
    t.equal(told.renewed, n + 1, 'its client is made anew')
    await clock.advance(rest - 1)
    t.equal(sources.length, n + 1)
    await clock.advance(1)
    t.equal(sources.length, n + 2)
  }
  await stop()
})
