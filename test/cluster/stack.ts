import type { Test } from 'tap'
import { ownMongo, ownRedis, type Server, STAND_IN_BULK } from '../adapters/servers.ts'
import type { Cluster } from '../stand-ins/eventstoredb/cluster.ts'
import { law as lawOf, type Recorded } from '../stand-ins/eventstoredb/law.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'

export type Stack = {
  readonly eventstore: {
    readonly kill: () => void
    readonly restart: () => Promise<void>
    /** All that it holds now. */
    readonly copy: () => readonly Recorded[]
    /** Dies, and comes back on its port with what a copy holds; with nothing where there is none. */
    readonly restore: (copy?: readonly Recorded[]) => Promise<void>
    /** While it hangs it takes every call and answers none. */
    readonly hang: (hangs: boolean) => void
    /** Before it takes the next append to a stream that is called so, it waits for this. */
    readonly overtake: (name: RegExp, work: () => Promise<unknown>) => void
  }
  readonly mongo: Server
  readonly redis: Server
  /** Settings of an instance on these servers. */
  readonly settings: Readonly<Record<string, string>>
}

/** The servers of a deployment of several instances: the stand-in of EventStoreDB, FerretDB and Redis; or, in one line, why they cannot be had here. `ahead`: the event store has a follower, which delivers so many milliseconds before the leader shows. */
export const startStack = async (
  t: Test,
  ahead?: number,
): Promise<{ readonly stack: Stack; readonly skip: false } | { readonly stack?: undefined; readonly skip: string }> => {
  const [mongo, redis] = [await ownMongo(t), await ownRedis(t)]
  if (!mongo.server) return { skip: mongo.skip }
  if (!redis.server) return { skip: redis.skip }
  const cluster: Cluster = { leader: 0, ports: new Set(), ...(ahead !== undefined && { ahead }) }
  let events: StandIn = await startEventStore({ cluster })
  let { law } = events
  const { port } = events
  t.teardown(() => events.kill())
  if (ahead !== undefined) {
    const follower = await startEventStore({ law, cluster })
    t.teardown(() => follower.kill())
  }
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
    overtake: (name, work) => {
      events.faults.before = async (call, stream) => {
        if (call !== 'append' || !name.test(stream)) return
        delete events.faults.before
        await work()
      }
    },
    copy: () => [...law.all],
    restore: async (copy) => {
      events.kill()
      law = lawOf(copy)
      events = await startEventStore({ law, port, cluster })
    },
    restart: async () => {
      events = await startEventStore({ law, port, cluster })
    },
  }
  const settings = {
    'storage.type': 'cluster',
    'eventstore.url': `esdb://${[...cluster.ports].map((node) => `127.0.0.1:${node}`).join(',')}?tls=false`,
    'mongodb.url': mongo.server.url,
    'mongodb.database': `t${process.pid}`,
    'mongodb.bulk_size': String(STAND_IN_BULK),
    'redis.url': redis.server.url,
  }
  return { stack: { eventstore, mongo: mongo.server, redis: redis.server, settings }, skip: false }
}
