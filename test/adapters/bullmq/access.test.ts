import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import type { RedisPlace } from '../../../src/adapters/redis/address.ts'
import { queueContract } from '../../contracts/queue.ts'
import { eventually } from '../../wait.ts'
import { redisCluster } from '../redis-topologies.ts'
import { ownRedis, type Server } from '../servers.ts'
import { shareLimits } from './sharing.ts'
import { contractedQueue, sharedQueue } from './store.ts'

/** The line of the guide that creates the user. */
const guide = readFileSync(resolve(import.meta.dirname, '../../../../docs/guides/operations.md'), 'utf8')
const [, line = ''] = /```text acl\n(ACL SETUSER [^\n]+)\n```/.exec(guide) ?? []
const [command = '', ...args] = line.split(' ')
const PREFIX = 'rollcall'

const { server, skip } = await ownRedis(t)
const cluster = await redisCluster(t)

/** The user of the guide on each server, and the commands denied to it so far. */
const withUser = async (servers: readonly Server[]) => {
  const admins = servers.map(({ url }) => new Redis(url))
  for (const admin of admins) await admin.call(command, args)
  const denied = async () => {
    const entries = await Promise.all(
      admins.map((admin) => admin.acl('LOG') as Promise<readonly (readonly unknown[])[]>),
    )
    return entries.flat().map(String)
  }
  const empty = () => Promise.all(admins.map((admin) => admin.flushall()))
  return { denied, empty, close: () => admins.forEach((admin) => admin.disconnect()) }
}
const user = { username: 'rollcall', password: 'change-me' } as const

/** Runs all functions that use Redis and expects no denied command. */
const all = async (t: Test, place: RedisPlace, servers: readonly Server[]) => {
  const { denied, empty, close } = await withUser(servers)
  await t.test('the job queue on Redis passes the shared tests of every queue', async (t) =>
    queueContract(t, async (t) => {
      await empty()
      const { username: _, password: __, ...admin } = place
      return contractedQueue(t, place, { prefix: PREFIX, admin })
    }),
  )
  t.ok(await shareLimits(place, PREFIX), 'limits are shared')
  t.same(await denied(), [])
  close()
}
await t.test('a Redis user with the rights listed in the guide can run the job queue', { skip }, async (t) =>
  all(t, { url: `${server!.url}/7`, ...user }, [server!]),
)

await t.test(
  'a Redis user with the rights listed in the guide can run the job queue on a Redis Cluster',
  { skip: cluster.skip },
  async (t) => all(t, { ...cluster.topology!.place, ...user }, cluster.topology!.servers),
)

await t.test('the guide gives the Redis user no right that the job queue does not need', { skip }, async (t) => {
  const admin = new Redis(server!.url)
  await admin.set('theirs', '1')
  const redis = new Redis(server!.url, user)
  const refused: readonly (readonly string[])[] = [
    ['GET', 'theirs'],
    ['SET', '{another}:key', '1'],
    ['SET', 'rollcall:key', '1'],
    ['EVAL', "return redis.call('get', 'theirs')", '0'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['RANDOMKEY'],
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['SWAPDB', '0', '1'],
    ['CONFIG', 'GET', '*'],
    ['ACL', 'LIST'],
    ['CLIENT', 'LIST'],
    ['MONITOR'],
    ['SHUTDOWN', 'NOSAVE'],
    ['REPLICAOF', 'NO', 'ONE'],
    ['SCRIPT', 'FLUSH'],
    ['FUNCTION', 'LIST'],
    ['PUBLISH', 'all', 'x'],
    ['SUBSCRIBE', 'all'],
    ['MIGRATE', '127.0.0.1', '1', 'theirs', '0', '1'],
  ]
  for (const [name = '', ...args] of refused) {
    const why = await redis.call(name, args).then(
      () => 'done',
      (error: unknown) => String(error),
    )
    t.match(why, /NOPERM|can.t access/, `${name} ${args.join(' ')}`)
  }
  redis.disconnect()
  admin.disconnect()
})

await t.test(
  'the job queue reports a command that Redis denies, and works once Redis allows it',
  { skip },
  async (t) => {
    const admin = new Redis(server!.url)
    await admin.call(command, args)
    await admin.acl('SETUSER', 'rollcall', '-info', '-evalsha', '-eval')
    const store = sharedQueue({ url: server!.url, ...user }, 300, PREFIX)
    const queue = await store.open()
    let runs = 0
    await queue.schedule({ name: 'tick', every: 300, run: async () => void runs++ })
    await eventually(() => runs > 2, 'jobs to go on')
    t.match(String(store.faults[0]), /NOPERM/)
    await admin.call(command, args)
    const before = store.counts.worked
    await eventually(() => store.counts.worked > before + 3, 'Redis to be asked again, and to answer')
    t.ok(await queue.runs())
    await queue.close()
    admin.disconnect()
  },
)
