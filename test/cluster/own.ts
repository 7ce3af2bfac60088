import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import root from 'tap'
import { ownMongo, ownRedis, STAND_IN_BULK } from '../adapters/servers.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { namedServers, type Settings, settingsOn } from './named-servers.ts'

/** Whether the services of the tests run on servers (`ROLLCALL_TEST_STACK=cluster`). */
export const onCluster: boolean = process.env['ROLLCALL_TEST_STACK'] === 'cluster'
/** Why a run on the embedded stack skips a test; false in a run on servers. */
export const withoutServers: string | false = !onCluster && 'needs the stack of servers (npm run test:cluster)'
/** Why a run on servers skips a test; false in a run on the embedded stack. */
export const onServers: string | false = onCluster && 'needs the embedded stack (npm test)'

/** The stand-ins of MongoDB and Redis, which the stacks of a process share; none of a server that is a named one. */
const shared = async () => {
  // The next test file of the process starts servers of its own.
  root.teardown(() => {
    servers = undefined
    stacks.clear()
  })
  const named = namedServers()
  const mongo = named.mongodb === undefined ? await ownMongo(root) : undefined
  const redis = named.redis === undefined ? await ownRedis(root) : undefined
  if (mongo?.skip || redis?.skip) throw new Error(mongo?.skip || redis?.skip || 'no servers')
  return { named, mongo: mongo?.server?.url, redis: redis?.server?.url }
}
let servers: ReturnType<typeof shared> | undefined
const stacks = new Map<string, Settings>()

const ownEvents = async (): Promise<Settings> => {
  const events = await startEventStore()
  root.teardown(() => events.kill())
  return { 'eventstore.url': events.url }
}

const begun = async (directory: string): Promise<Settings> => {
  servers ??= shared()
  const { named, mongo, redis } = await servers
  const settings = {
    'storage.type': 'cluster',
    ...(named.eventstore === undefined && (await ownEvents())),
    ...(mongo !== undefined && {
      'mongodb.url': mongo,
      'mongodb.database': `t${stacks.size}`,
      'mongodb.bulk_size': String(STAND_IN_BULK),
    }),
    ...(redis !== undefined && { 'redis.url': `${redis}/${stacks.size}` }),
    ...settingsOn(named, root),
    'keys.file': join(directory, 'data', 'keys'),
  }
  stacks.set(directory, settings)
  return settings
}

/**
 * Settings of the servers of a directory: its own event store, database and Redis database, the same on each call; on
 * named servers its own prefixes and database. The stand-ins of MongoDB and Redis start once per process.
 */
export const clusterOf = async (directory: string): Promise<Settings> => stacks.get(directory) ?? begun(directory)

/** Writes the settings of a stack to a configuration file. */
export const writeConfig = async (file: string, settings: Settings): Promise<void> => {
  const tree: Record<string, Record<string, unknown>> = {}
  for (const [key, value] of Object.entries(settings)) {
    const [group, name] = key.split('.') as [string, string]
    tree[group] = { ...tree[group], [name]: /^(?:\d+|true)$/.test(value) ? JSON.parse(value) : value }
  }
  await writeFile(file, JSON.stringify(tree))
}
