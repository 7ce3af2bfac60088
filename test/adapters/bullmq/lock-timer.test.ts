import { randomUUID } from 'node:crypto'
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { bullmqJob } from '../../../src/adapters/redis/queue.ts'
import { lastRuns } from '../../../src/adapters/redis/queue-view.ts'
import { noted } from '../../noted.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { ignore } from './sharing.ts'

const { server, skip } = await ownRedis(t)
/** Delay in ms of a reconnection, longer than the test. */
const NEVER_MS = 2 ** 31 - 1
/** Maximum time in ms for a connection to end. */
const DISCONNECT_MS = 2000

/** Timers that keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

/** A job on connections that can be lost one by one and do not reconnect. */
const losing = (run: (signal: AbortSignal) => Promise<void>) => {
  const clock = virtualClock()
  const health = { failed: ignore, worked: ignore }
  const client = connectRedis({ url: server!.url }, true, health)
  const disconnect = familyOf(client)
  const made: Redis[] = []
  const duplicate = client.duplicate.bind(client) as (override?: object) => Redis
  client.duplicate = ((override?: object) => {
    const another = duplicate(override)
    another.options.retryStrategy = () => NEVER_MS
    made.push(another)
    return another
  }) as typeof client.duplicate
  const stop = new AbortController()
  const prefix = `{${randomUUID()}}`
  const parts = { clock, client, prefix, signal: stop.signal, grace: 3000, onError: ignore, health }
  const runs = lastRuns(client, clock, `${prefix}:runs`, ignore)
  const job = bullmqJob({ name: 'tick', every: 600_000, run }, { ...parts, runs })
  /** Closes the connection of the worker. */
  const lose = () => {
    for (const each of made) each.stream.destroy()
    return eventually(() => made.every(({ status }) => status === 'reconnecting'), 'the loss')
  }
  return { clock, client, made, lose, stop, job, disconnect }
}

await t.test('a job that ends without a connection to Redis leaves no timer after 1,500 ms', { skip }, async (t) => {
  const before = timers()
  let running = false
  const { clock, client, lose, stop, job, disconnect } = losing(async (signal) => {
    running = true
    await new Promise((end) => signal.addEventListener('abort', end))
  })
  await eventually(() => running, 'a run')
  await lose()
  await eventually(() => clock.waiting().length === 1, 'the answers of Redis')
  // The answer arrives at the last moment.
  const ping = client.ping.bind(client)
  let answer = () => {}
  const late = new Promise<void>((come) => (answer = come))
  let pinged = false
  client.ping = async () => {
    await late
    const pong = await ping()
    pinged = true
    return pong
  }

  stop.abort()
  const closing = job.close()
  const closed = noted(closing)
  await eventually(() => clock.waiting().length > 0, 'its end')
  t.same(clock.waiting(), [500], 'for an answer')
  await clock.advance(499)
  answer()
  await eventually(() => pinged, 'the answer')
  await clock.settle()
  t.same(clock.waiting(), [1000], 'for what the worker wants to tell')
  await clock.advance(999)
  t.same(closed, [])
  await clock.advance(1)
  t.same(closed, [undefined])
  await clock.advance(10_000)
  await closing
  disconnect()
  await eventually(() => timers() <= before, 'the end of all timers')
  t.pass('the process may end')
})

/** Delays in ms of the timers that are set from now on and not cleared. */
const timersSet = (t: Test) => {
  const set = new Map<unknown, number>()
  const { setTimeout: begin, clearTimeout: clear } = globalThis
  const setTimer = (work: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const timer = begin(() => {
      set.delete(timer)
      work(...args)
    }, ms)
    set.set(timer, ms)
    return timer
  }
  const clearTimer = (timer?: NodeJS.Timeout) => {
    set.delete(timer)
    clear(timer)
  }
  t.intercept(globalThis, 'setTimeout', { value: setTimer })
  t.intercept(globalThis, 'clearTimeout', { value: clearTimer })
  return () => [...set.values()]
}

await t.test('a worker that waits for a connection to Redis leaves no timer', { skip }, async (t) => {
  const set = timersSet(t)
  const left = () => set().filter((ms) => ms > DISCONNECT_MS)
  let runs = 0
  const { clock, client, lose, stop, job, disconnect } = losing(async () => void runs++)
  await eventually(() => runs === 1, 'its first run')
  const blocked = async () => /\nblocked_clients:1\r/.test(await client.info('clients'))
  await eventually(blocked, 'its wait')
  await eventually(() => clock.waiting().length === 1, 'the answers of Redis')
  t.not(left().length, 0, 'which has a limit')
  await lose()
  stop.abort()
  const closing = job.close()
  const closed = noted(closing)
  await eventually(async () => {
    await clock.advance(100)
    return closed.length > 0
  }, 'its end')
  await closing
  disconnect()
  await clock.settle()
  t.same(left(), [], 'the process may end')
})

await t.test('a closed connection to Redis leaves no timer', { skip }, async (t) => {
  const set = timersSet(t)
  let runs = 0
  const { clock, client, made, stop, job, disconnect } = losing(async () => void runs++)
  await eventually(() => runs === 1, 'its first run')
  stop.abort()
  const closed = noted(job.close())
  await eventually(async () => {
    await clock.advance(100)
    return closed.length > 0
  }, 'its end')
  disconnect()
  await eventually(() => [client, ...made].every(({ status }) => status === 'end'), 'the end of all connections')
  t.same(set(), [], 'the process may end')
})
