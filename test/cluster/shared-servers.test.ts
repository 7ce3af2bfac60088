import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { ownMongo, ownRedis, STAND_IN_BULK } from '../adapters/servers.ts'
import { collect } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { startService } from '../start.ts'
import { walkingClock } from '../walking-clock.ts'
import { lacking, type Named, openLogOf } from './named-servers.ts'
import { FLAGS, lines, names, ready, written } from './restoring.ts'
import { becomes, issue, revoke } from './revoking.ts'
import { startStack } from './stack.ts'

const [mongo, redis] = [await ownMongo(t), await ownRedis(t)]
const skip = mongo.skip || redis.skip

/** Databases and keys on the servers, without those of the servers themselves. */
const kept = async ({ mongodb, redis }: Named) => {
  const client = await MongoClient.connect(mongodb!)
  const { databases } = await client.db().admin().listDatabases()
  await client.close()
  const keys = new Redis(redis!)
  const count = await keys.dbsize()
  keys.disconnect()
  return { databases: databases.map(({ name }) => name).filter((name) => /^t[\da-f]{12}$/.test(name)), keys: count }
}

const startOn = async (t: Test, named: Named) => {
  const { stack } = await startStack(t, { named })
  const settings = { ...stack!.settings, 'mongodb.bulk_size': String(STAND_IN_BULK) }
  const start = () => startService(t, settings, { clock: walkingClock(t) })
  return { settings, a: await start(), b: await start() }
}

await t.test('stacks on the same named servers run apart from each other', { skip }, async (t) => {
  const events = await startEventStore()
  t.teardown(() => events.kill())
  const named: Named = { eventstore: events.url, mongodb: mongo.server!.url, redis: redis.server!.url }
  await t.test('each stack has its own events, rows, tokens and jobs', async (t) => {
    const one = await startOn(t, named)
    const flag = (name: string) => ({ key: 'f', name, type: 'BOOLEAN_FLAG_TYPE' })
    t.equal((await one.a.request('POST', FLAGS, flag('one'))).status, 200)
    const other = await startOn(t, named)
    t.equal((await other.a.request('POST', FLAGS, flag('other'))).status, 200)
    for (const { a, b, settings } of [one, other]) {
      const { bearer, id } = await issue(a)
      t.ok(await becomes(b, bearer, 200))
      await revoke(b, id)
      t.ok(await becomes(a, bearer, 401))
      await ready(a)
      await written(a)
      const log = await openLogOf(settings)
      const flags = (await collect(log.readAll(0n))).filter(({ type }) => type === 'FlagCreated')
      await log.close()
      t.equal(flags.length, 1, 'no event of another stack')
      for (const each of [a, b]) t.strictSame(await lines(each), [])
    }
    t.strictSame([await names(one.b), await names(other.b)], [['one'], ['other']])
    t.equal((await kept(named)).databases.length, 2)
  })
  t.strictSame(await kept(named), { databases: [], keys: 0 }, 'the end of a stack leaves no rows or keys')
})

await t.test('a test that controls a named server is skipped with the reason', async (t) => {
  const needs = { eventstore: 'ends and restarts it', redis: 'delays it' }
  t.equal(lacking(needs, {}), false)
  t.equal(lacking(needs, { eventstore: 'esdb://x' }), 'needs the stand-in of EventStoreDB: ends and restarts it')
  const { stack, skip } = await startStack(t, { needs, named: { redis: 'redis://x' } })
  t.equal(stack, undefined)
  t.equal(skip, 'needs the stand-in of Redis: delays it')
})
