import { randomBytes } from 'node:crypto'
import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import { type EventStore, openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../../src/base/clock.ts'
import { catalog } from '../../src/events/catalog.ts'
import type { Owner } from '../adapters/servers.ts'

export type ServerName = 'eventstore' | 'mongodb' | 'redis'
/** Addresses of servers that all stacks share. A stack starts a stand-in for each absent one. */
export type Named = { readonly [S in ServerName]?: string | undefined }
export type Settings = Readonly<Record<string, string>>

const PRODUCTS = { eventstore: 'EventStoreDB', mongodb: 'MongoDB', redis: 'Redis' } as const
const KEYS_AT_ONCE = 500

/** The servers that the environment names. */
export const namedServers = (): Named => ({
  eventstore: process.env['ROLLCALL_TEST_EVENTSTORE_URL'],
  mongodb: process.env['ROLLCALL_TEST_MONGODB_URL'],
  redis: process.env['ROLLCALL_TEST_REDIS_URL'],
})

/** Reason to skip a test that controls these servers; false if all of them are stand-ins. */
export const lacking = (needs: Named, named: Named = namedServers()): string | false => {
  const servers = (Object.keys(needs) as ServerName[]).filter((server) => named[server] !== undefined)
  return (
    servers.length > 0 &&
    servers.map((server) => `needs the stand-in of ${PRODUCTS[server]}: ${needs[server]}`).join('; ')
  )
}

const dropDatabase = async (url: string, database: string): Promise<void> => {
  const client = await MongoClient.connect(url)
  await client.db(database).dropDatabase()
  await client.close()
}

const deleteKeys = async (url: string, prefix: string): Promise<void> => {
  const client = new Redis(url)
  for await (const keys of client.scanStream({ match: `{${prefix}}*`, count: KEYS_AT_ONCE }))
    if ((keys as readonly string[]).length > 0) await client.del(keys as string[])
  client.disconnect()
}

/**
 * Settings of one stack on the named servers: its own prefix of streams, database, and prefix of keys. The database and
 * the keys are deleted at the end of the owner; the streams remain, because a log is append-only.
 */
export const settingsOn = ({ eventstore, mongodb, redis }: Named, owner: Owner): Settings => {
  const own = `t${randomBytes(6).toString('hex')}`
  if (mongodb !== undefined) owner.teardown(() => dropDatabase(mongodb, own))
  if (redis !== undefined) owner.teardown(() => deleteKeys(redis, own))
  return {
    ...(eventstore !== undefined && {
      'eventstore.url': eventstore,
      'eventstore.stream_prefix': `${own}.`,
      'eventstore.shared': 'true',
    }),
    ...(mongodb !== undefined && { 'mongodb.url': mongodb, 'mongodb.database': own }),
    ...(redis !== undefined && { 'redis.url': redis, 'redis.prefix': own }),
  }
}

/** Opens the event log of a stack, without the service. */
export const openLogOf = (
  settings: Settings,
  categories: readonly string[] = Object.keys(catalog),
): Promise<EventStore> => {
  const { 'eventstore.url': url, 'eventstore.stream_prefix': prefix } = settings
  return openEventStore(url!, {
    clock: systemClock,
    categories,
    onError: () => {},
    ...(prefix !== undefined && { prefix }),
  })
}
