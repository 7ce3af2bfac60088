import { Redis } from 'ioredis'
import t from 'tap'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { bullmqJob } from '../../../src/adapters/redis/queue-job.ts'
import { lastRuns } from '../../../src/adapters/redis/queue-runs.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { ignore } from './sharing.ts'

const { server, skip } = await ownRedis(t)
/** The connection of the worker is not made again within the test. */
const NEVER_MS = 2 ** 31 - 1

/** The timers that keep this process alive. */
const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

await t.test('a job that ends while its worker has no connection leaves no timer behind', { skip }, async (t) => {
  const before = timers()
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
  let running = false
  const run = async (signal: AbortSignal) => {
    running = true
    await new Promise((end) => signal.addEventListener('abort', end))
  }
  const parts = { clock, client, prefix: '{timer}', signal: stop.signal, grace: 3000, onError: ignore, health }
  const runs = lastRuns(client, clock, '{timer}:runs', ignore)
  const job = bullmqJob({ name: 'tick', every: 600_000, run }, { ...parts, runs })
  await eventually(() => running, 'a run')
  const admin = new Redis(server!.url)
  for (const each of made) await admin.call('CLIENT', 'KILL', 'ID', await each.client('ID'))
  await eventually(() => made.every(({ status }) => status === 'reconnecting'), 'the loss')
  admin.disconnect()

  stop.abort()
  let closed = false
  const closing = job.close().then(() => (closed = true))
  await eventually(() => closed || (clock.waiting().includes(1000) && clock.waiting().length === 1), 'its end begins')
  await clock.advance(1000)
  await closing
  disconnect()
  await eventually(() => timers() <= before, 'the end of all timers')
  t.pass('the process may end')
})
