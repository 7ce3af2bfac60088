import { join } from 'node:path'
import root from 'tap'
import { ownMongo, ownRedis, STAND_IN_BULK } from '../adapters/servers.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'

/** Whether the services of the tests run on servers (`ROLLCALL_TEST_STACK=cluster`). */
export const onCluster: boolean = process.env['ROLLCALL_TEST_STACK'] === 'cluster'

type Settings = Readonly<Record<string, string>>

const shared = async () => {
  // The next test file of the process starts servers of its own.
  root.teardown(() => {
    servers = undefined
    stacks.clear()
  })
  const [mongo, redis] = [await ownMongo(root), await ownRedis(root)]
  if (!mongo.server || !redis.server) throw new Error(mongo.skip || redis.skip || 'no servers')
  return { mongo: mongo.server.url, redis: redis.server.url }
}
let servers: ReturnType<typeof shared> | undefined
const stacks = new Map<string, Settings>()

const begun = async (directory: string): Promise<Settings> => {
  servers ??= shared()
  const { mongo, redis } = await servers
  const events = await startEventStore()
  root.teardown(() => events.kill())
  const settings = {
    'storage.type': 'cluster',
    'eventstore.url': events.url,
    'mongodb.url': mongo,
    'mongodb.database': `t${stacks.size}`,
    'mongodb.bulk_size': String(STAND_IN_BULK),
    'redis.url': `${redis}/${stacks.size}`,
    'keys.file': join(directory, 'data', 'keys'),
  }
  stacks.set(directory, settings)
  return settings
}

/**
 * Settings of the servers of a directory: its own event store, database and Redis database, the same on each call.
 * MongoDB and Redis start once per process.
 */
export const clusterOf = async (directory: string): Promise<Settings> => stacks.get(directory) ?? begun(directory)
