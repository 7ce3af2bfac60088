import { Redis } from 'ioredis'
import t from 'tap'
import { redisCluster } from '../redis-topologies.ts'
import { ownRedis } from '../servers.ts'
import { counting, sleep, until } from './sharing.ts'

const { server, skip } = await ownRedis(t)
const cluster = await redisCluster(t)

/** How many calls a server has refused. */
const refusals = async (redis: Redis): Promise<number> =>
  Number(/total_error_replies:(\d+)/.exec(await redis.info('stats'))?.[1])

await t.test('a Redis that is full is told of, is not asked all the time, and jobs go on', { skip }, async (t) => {
  const redis = new Redis(server!.url)
  const { more, heard, close, faults, errors, counts } = await counting({ url: server!.url })
  t.ok(await more(2), 'before')
  t.same(faults, [])
  await redis.config('SET', 'maxmemory', '1')
  t.ok(await until(() => faults.length > 0), 'it is told')
  t.match(faults[0], { message: /^OOM/ })
  const before = await refusals(redis)
  await sleep(4000)
  const refused = (await refusals(redis)) - before
  t.ok(refused < 200, `${refused} refusals in 4 s by two instances`)
  t.ok(await more(4), 'jobs go on')
  await redis.config('SET', 'maxmemory', '0')
  const told = faults.length
  t.ok(await heard(3))
  await sleep(3000)
  const [later, worked] = [faults.length, counts.worked]
  await sleep(3000)
  t.equal(faults.length, later, `nothing is refused any more (${later - told} at first)`)
  t.ok(counts.worked > worked)
  t.ok(await more(4), 'and afterwards')
  t.same(errors, [])
  redis.disconnect()
  await close()
})

await t.test('a node of a Redis Cluster that is taken for a server of its own', { skip: cluster.skip }, async (t) => {
  const { servers } = cluster.topology!
  /** One that has other slots than those of the keys. */
  const asked = servers.map(({ url }) => new Redis(url))
  const all = await Promise.all(servers.map(({ url }) => counting({ url })))
  for (const { more } of all) t.ok(await more(3), 'jobs go on')
  const before = await Promise.all(asked.map(refusals))
  await sleep(4000)
  const refused = (await Promise.all(asked.map(refusals))).map((count, n) => count - before[n]!)
  t.ok(Math.max(...refused) < 200, `${refused.join(', ')} refusals in 4 s`)
  const told = all.flatMap(({ faults }) => faults)
  t.ok(told.length > 0)
  t.match(told[0], { message: /^MOVED/ })
  for (const { close } of all) await close()
  for (const redis of asked) redis.disconnect()
})
