import { Redis } from 'ioredis'
import t from 'tap'
import { openRedisLimits } from '../../../src/adapters/redis/rate-limit.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { eventually, quiet } from '../../wait.ts'
import { REDIS_SECRET, redisSentinels, redisTls } from '../redis-topologies.ts'
import { ownRedis, type Server } from '../servers.ts'
import { counting, ignore, shareLimits } from './sharing.ts'
import { sharedQueue } from './store.ts'

const watched = await redisSentinels(t)
const [secured, alone] = [await redisTls(t), await ownRedis(t)]

await t.test(
  'the job queue uses the new primary after Redis Sentinels replaced a dead one',
  { skip: watched.skip },
  async (t) => {
    const { place, servers } = watched.topology!
    const [primary, replica] = servers as [Server, Server]
    const { keys, more, heard, close, faults, errors } = await counting(place)
    t.ok(await more(3), 'before')
    t.same(faults, [])
    t.ok(await shareLimits(place), 'limits are shared')
    const password = REDIS_SECRET
    const keysAt = async (url: string) => {
      const redis = new Redis(url, { password })
      const found = await redis.keys(`${keys}:*`)
      redis.disconnect()
      return found.length
    }
    t.ok((await keysAt(primary.url)) > 0)
    await primary.kill()
    t.ok(await more(3), 'jobs go on meanwhile')
    t.ok(faults.length > 0, 'which is told of')
    const promoted = new Redis(replica.url, { password })
    await eventually(async () => /role:master/.test(await promoted.info('replication')), 'the replica as the primary')
    await promoted.flushall()
    promoted.disconnect()
    t.ok(await heard(3), 'it is found')
    t.ok(await more(3), 'and jobs go on')
    t.ok((await keysAt(replica.url)) > 0, 'by the new primary')
    t.ok(await shareLimits(place), 'limits too')
    t.same(errors, [])
    await close()
  },
)

await t.test(
  'two deployments with different prefixes on one Redis do not affect each other',
  { skip: alone.skip },
  async (t) => {
    const server = alone.server!
    const counts = { one: 0, two: 0 }
    const [one, two] = [sharedQueue(server.url, 600_000, 'one'), sharedQueue(server.url, 600_000, 'two')]
    const queues = [await one.open(), await two.open()]
    await queues[0]!.schedule({ name: 'tidy', every: 600_000, run: async () => void counts.one++ })
    await queues[1]!.schedule({ name: 'tidy', every: 300, run: async () => void counts.two++ })
    await eventually(() => counts.two >= 5 && counts.one > 0, 'the runs of both')
    t.equal(counts.one, 1, 'each has its own interval, and nobody runs the turn of the other')
    t.same(
      (await queues[0]!.runs()).map(({ name }) => name),
      ['tidy'],
    )
    t.not((await queues[0]!.runs())[0]!.startedAt, (await queues[1]!.runs())[0]!.startedAt)
    const key = Buffer.from('key')
    const limits = ['one', 'two'].map((prefix) =>
      openRedisLimits(
        { url: server.url },
        { clock: systemClock, key, prefix, flushMs: 30, health: { failed: ignore } },
      ),
    )
    const [first, second] = limits.map(({ limiter }) => limiter('failures', 10))
    for (let n = 0; n < 20; n++) first!.count('ann')
    second!.count('ann')
    const redis = new Redis(server.url)
    const told = () => redis.keys('{two}:limit:*')
    await eventually(async () => (await told()).length > 0, 'what the second counted')
    const marker = async () => {
      second!.count('bob')
      const [key] = await told()
      await eventually(async () => (await redis.hlen(key!)) > 1, 'the count of another client')
    }
    second!.count('ann')
    await quiet(t, () => second!.exhausted('ann'), marker, 'the limits are apart')
    t.notOk(second!.exhausted('ann'))
    t.strictSame(new Set((await redis.keys('*')).map((each) => each.split(':')[0])), new Set(['{one}', '{two}']))
    redis.disconnect()
    await Promise.all([...queues, ...limits].map((each) => each.close()))
  },
)

await t.test(
  'the service connects to Redis over TLS with a private authority and a client certificate',
  { skip: secured.skip },
  async (t) => {
    const { place } = secured.topology!
    const { more, close, faults } = await counting(place)
    t.ok(await more(3))
    t.same(faults, [])
    t.ok(await shareLimits(place))
    await close()
    const { ca_file: _, ...unknown } = place
    const stranger = sharedQueue(unknown)
    const queue = await stranger.open()
    await eventually(() => stranger.faults.length > 0, 'a certificate of an authority that is not known is refused')
    t.match(stranger.faults, [/self-signed certificate/])
    t.equal(stranger.counts.worked, 0)
    await queue.close()
  },
)
