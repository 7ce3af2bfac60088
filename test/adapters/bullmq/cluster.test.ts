import { Redis } from 'ioredis'
import t from 'tap'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { queueContract } from '../../contracts/queue.ts'
import { redisCluster } from '../redis-topologies.ts'
import { counting, ignore, shareLimits } from './sharing.ts'
import { contractedQueue } from './store.ts'

const cluster = await redisCluster(t)

await t.test('the job queue works on a Redis Cluster with three masters', { skip: cluster.skip }, async (t) => {
  const { place, servers } = cluster.topology!

  await t.test('the job queue on a Redis Cluster passes the shared tests of every queue', async (t) =>
    queueContract(t, async (t) => contractedQueue(t, place)),
  )

  await t.test('all instances that use the same Redis Cluster share their rate limits', async (t) =>
    t.ok(await shareLimits(place)),
  )

  await t.test(
    'all Redis keys of a job queue are on one cluster node, because their prefix is a hash tag',
    async (t) => {
      const { keys, more, close, faults } = await counting(place)
      t.ok(await more(3))
      const having: string[] = []
      for (const { url } of servers) {
        const node = new Redis(url)
        if ((await node.keys(`${keys}:*`)).length > 0) having.push(url)
        node.disconnect()
      }
      t.equal(having.length, 1)
      t.same(faults, [])
      await close()
    },
  )

  await t.test('scheduled jobs run without Redis while its node is down, and use Redis again afterwards', async (t) => {
    const { keys, more, heard, close, faults } = await counting(place)
    t.ok(await more(2), 'before')
    const asked = connectRedis(place, true, { failed: ignore })
    const slot = await asked.cluster('KEYSLOT', keys)
    familyOf(asked)()
    const lost = servers[Math.floor((slot * 3) / 16_384)]!
    await lost.kill()
    t.ok(await more(3), 'without it')
    t.ok(faults.length > 0, 'which is told of')
    await lost.start()
    t.ok(await heard(3), 'it is asked again')
    t.ok(await more(3), 'and afterwards')
    await close()
  })
})
