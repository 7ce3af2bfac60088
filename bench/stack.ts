import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'
import { openEventStore } from '../src/adapters/eventstoredb/open.ts'
import { systemClock } from '../src/base/clock.ts'
import { type Found, type Owner, ownMongo, ownRedis, STAND_IN_BULK } from '../test/adapters/servers.ts'
import { settingsOn } from '../test/cluster/named-servers.ts'
import { progress, type Row } from './measure.ts'
import { type Server, startBeside, startServer } from './processes.ts'

const ANSWER_MS = 3000

/** Something for a bench, or in one line what it takes to have it. */
export type Had<T> = { readonly got: T; readonly skip: false } | { readonly got?: undefined; readonly skip: string }
/** A server to measure on; `what` it is, in the words of a row. */
export type Engine = { readonly url: string; readonly what: string }
type Kind = {
  readonly name: string
  readonly variable: string
  /** Fails when the server does not answer. */
  readonly knock: (url: string) => Promise<unknown>
  readonly standIn: string
  readonly start: (
    owner: Owner,
  ) => Promise<Pick<Found, 'skip'> & { readonly server?: { readonly url: string } | undefined }>
}

const knockMongo = async (url: string) => {
  const client = new MongoClient(url, { serverSelectionTimeoutMS: ANSWER_MS })
  try {
    await client.db().command({ ping: 1 })
  } finally {
    await client.close()
  }
}

const kinds = {
  eventstore: {
    name: 'EventStoreDB',
    variable: 'ROLLCALL_TEST_EVENTSTORE_URL',
    knock: async (url) => {
      const log = await openEventStore(url, {
        clock: systemClock,
        categories: [],
        onError: () => {},
        patience: ANSWER_MS,
      })
      try {
        await log.head()
      } finally {
        await log.close()
      }
    },
    standIn: 'a stand-in of EventStoreDB that keeps events in memory',
    start: async (owner) => {
      const server = await startBeside('eventstore')
      owner.teardown(server.stop)
      return { server, skip: false }
    },
  },
  mongodb: {
    name: 'MongoDB',
    variable: 'ROLLCALL_TEST_MONGODB_URL',
    knock: knockMongo,
    standIn: 'FerretDB for MongoDB',
    start: ownMongo,
  },
  redis: {
    name: 'Redis',
    variable: 'ROLLCALL_TEST_REDIS_URL',
    knock: async (url) => {
      const redis = new Redis(url, { lazyConnect: true, connectTimeout: ANSWER_MS, retryStrategy: () => null })
      redis.on('error', () => {})
      try {
        await redis.connect()
      } finally {
        redis.disconnect()
      }
    },
    standIn: 'redis-server',
    start: ownRedis,
  },
} as const satisfies Readonly<Record<string, Kind>>

/** The server that the environment names; where it names none, one of the bench's own. */
const engine =
  (kind: keyof typeof kinds) =>
  async (owner: Owner): Promise<Had<Engine>> => {
    const { name, variable, knock, standIn, start }: Kind = kinds[kind]
    const url = process.env[variable]
    if (url === undefined) {
      const { server, skip } = await start(owner)
      return server ? { got: { url: server.url, what: standIn }, skip: false } : { skip: skip || `needs ${name}` }
    }
    try {
      await knock(url)
      return { got: { url, what: `the ${name} of ${variable}` }, skip: false }
    } catch (error) {
      const [why] = String(error).split('\n')
      return { skip: `needs the ${name} that ${variable} names to answer (${why})` }
    }
  }

export const eventStore = engine('eventstore')

/**
 * Settings of the instances of one deployment on the three servers, with prefixes and a database of its own; what the
 * servers are.
 */
export type Stack = { readonly settings: Readonly<Record<string, string>>; readonly what: string }

export const stack = async (owner: Owner): Promise<Had<Stack>> => {
  const [events, mongo, redis] = [await eventStore(owner), await engine('mongodb')(owner), await engine('redis')(owner)]
  if (!events.got || !mongo.got || !redis.got) {
    return { skip: [events, mongo, redis].flatMap(({ skip }) => (skip === false ? [] : [skip])).join('; ') }
  }
  const settings = {
    'storage.type': 'cluster',
    ...settingsOn({ eventstore: events.got.url, mongodb: mongo.got.url, redis: redis.got.url }, owner),
    ...(process.env[kinds.mongodb.variable] === undefined && { 'mongodb.bulk_size': String(STAND_IN_BULK) }),
  }
  return { got: { settings, what: [events, mongo, redis].map(({ got }) => got.what).join(', ') }, skip: false }
}

type Instances = {
  /** Starts one more; what is set here comes after the settings of all. */
  readonly start: (...args: readonly string[]) => Promise<Server>
  readonly stop: (server: Server) => Promise<void>
}

/** Does the work with instances of one deployment, and ends those that it has not ended. */
export const instances = async <T>(
  settings: Stack['settings'],
  work: (instances: Instances) => Promise<T>,
): Promise<T> => {
  const given = Object.entries({ ...settings, 'rate_limit.enabled': 'false' })
  const set = given.map(([key, value]) => `--set=${key}=${value}`)
  const started = new Set<Server>()
  const stop = async (server: Server) => {
    started.delete(server)
    await server.stop()
  }
  try {
    return await work({
      start: async (...args) => {
        const server = await startServer('service', ...set, ...args)
        started.add(server)
        return server
      },
      stop,
    })
  } finally {
    await Promise.all([...started].map(stop))
  }
}

/** Measures on servers and ends what was started for it. Without them there are no rows, and one line says what it takes; that is no failure. */
export const having = async <T>(
  ids: string,
  servers: (owner: Owner) => Promise<Had<T>>,
  measure: (servers: T, owner: Owner) => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  const ends: (() => unknown)[] = []
  const owner: Owner = { teardown: (end) => void ends.push(end) }
  try {
    const { got, skip } = await servers(owner)
    if (got !== undefined) return await measure(got, owner)
    progress(`${ids} left out: ${skip}`)
    return []
  } finally {
    for (const end of ends.toReversed()) await end()
  }
}
