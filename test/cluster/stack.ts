import type { Test } from 'tap'
import { ownMongo, ownRedis, type Server, STAND_IN_BULK } from '../adapters/servers.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'

export type Stack = {
  readonly eventstore: {
    readonly kill: () => void
    readonly restart: () => Promise<void>
    /** While it hangs it takes every call and answers none. */
    readonly hang: (hangs: boolean) => void
  }
  readonly mongo: Server
  readonly redis: Server
  /** Settings of an instance on these servers. */
  readonly settings: Readonly<Record<string, string>>
}

/** The servers of a deployment of several instances: the stand-in of EventStoreDB, FerretDB and Redis; or, in one line, why they cannot be had here. */
export const startStack = async (
  t: Test,
): Promise<{ readonly stack: Stack; readonly skip: false } | { readonly stack?: undefined; readonly skip: string }> => {
  const [mongo, redis] = [await ownMongo(t), await ownRedis(t)]
  if (!mongo.server) return { skip: mongo.skip }
  if (!redis.server) return { skip: redis.skip }
  let events: StandIn = await startEventStore()
  const { url, law, port } = events
  t.teardown(() => events.kill())
  let held: (() => void)[] = []
  const eventstore: Stack['eventstore'] = {
    kill: () => events.kill(),
    hang: (hangs) => {
      events.silence(hangs)
      if (hangs) events.faults.before = () => new Promise((released) => held.push(released))
      else delete events.faults.before
      for (const release of held) release()
      held = []
    },
    restart: async () => {
      events = await startEventStore({ law, port })
    },
  }
  const settings = {
    'storage.type': 'cluster',
    'eventstore.url': url,
    'mongodb.url': mongo.server.url,
    'mongodb.database': `t${process.pid}`,
    'mongodb.bulk_size': String(STAND_IN_BULK),
    'redis.url': redis.server.url,
  }
  return { stack: { eventstore, mongo: mongo.server, redis: redis.server, settings }, skip: false }
}
