import { Redis } from 'ioredis'
import t from 'tap'
import { connectRedis, familyOf } from '../../../src/adapters/redis/connection.ts'
import { queueContract } from '../../contracts/queue.ts'
import { redisCluster } from '../redis-topologies.ts'
import { counting, ignore, shareLimits } from './sharing.ts'
import { contractedQueue } from './store.ts'

const cluster = await redisCluster(t)

await t.test('a Redis Cluster of three masters', { skip: cluster.skip }, async (t) => {
  const { place, servers } = cluster.topology!

  await t.test('fulfils the contract of a queue', async (t) => queueContract(t, async (t) => contractedQueue(t, place)))

  await t.test('has limits that instances share', async (t) => t.ok(await shareLimits(place)))

  await t.test('stores all keys of a prefix on one node, by its braces', async (t) => {
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
  })

  await t.test(
    'jobs run while the Redis node with their keys is down, and use Redis again when it is back',
    async (t) => {
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
    },
  )
})
