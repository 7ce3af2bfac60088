import { getEventListeners } from 'node:events'
import { Redis } from 'ioredis'
import t from 'tap'
import { type Client, connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { bullmqJob } from '../../../src/adapters/redis/queue.ts'
import { lastRuns } from '../../../src/adapters/redis/queue-view.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { eventually } from '../../wait.ts'
import { ownRedis } from '../servers.ts'
import { ignore } from './sharing.ts'

const RECONNECTIONS = 100
const { server, skip } = await ownRedis(t)

await t.test('after a hundred reconnections to Redis no event listener is left', { skip }, async (t) => {
  const warnings: string[] = []
  const warned = ({ name }: Error) => void warnings.push(name)
  process.on('warning', warned)
  t.teardown(() => process.off('warning', warned))
  const health = { failed: ignore, worked: ignore }
  const client = connectRedis({ url: server!.url }, true, health)
  const disconnect = familyOf(client)
  const clients: Client[] = [client]
  const duplicate = client.duplicate.bind(client) as (override?: object) => Redis
  client.duplicate = ((override?: object) => {
    const another = duplicate(override)
    clients.push(another)
    return another
  }) as typeof client.duplicate
  const stop = new AbortController()
  const runs = lastRuns(client, systemClock, '{listeners}:runs', ignore)
  let ran = 0
  const parts = {
    clock: systemClock,
    client,
    prefix: '{listeners}',
    runs,
    signal: stop.signal,
    grace: 300,
    onError: ignore,
    health,
  }
  const job = bullmqJob({ name: 'tick', every: 200, run: async () => void ran++ }, parts)
  const counted = () => [
    ...clients.map((each) => each.eventNames().reduce((sum, name) => sum + each.listenerCount(name), 0)),
    getEventListeners(stop.signal, 'abort').length,
  ]

  const admin = new Redis(server!.url)
  let ready = 0
  client.on('ready', () => ready++)
  const again = async (times: number) => {
    for (let n = 0; n < times; n++) {
      const before = ready
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
      await eventually(() => ready > before, 'a connection made anew')
      await eventually(() => clients.every(({ status }) => status === 'ready'), 'all connections')
    }
    const enough = ran + 3
    await eventually(() => ran >= enough, 'the job to go on')
  }
  await eventually(() => ran > 2, 'three runs')
  await again(5)
  const early = counted()
  t.equal(early.length, 3, 'the connection, that of the worker, and the signal')
  await again(RECONNECTIONS)
  const late = counted()
  // One pending wait may be among them.
  for (const [n, count] of late.entries()) t.ok(count <= early[n]! + 3, `${early[n]} listeners became ${count}`)
  t.same(warnings, [])
  admin.disconnect()
  stop.abort()
  await job.close()
  disconnect()
})
