import type { Test } from 'tap'
import { ownMongo, ownRedis, type Server, STAND_IN_BULK } from '../adapters/servers.ts'
import type { Cluster } from '../stand-ins/eventstoredb/cluster.ts'
import { law as lawOf, type Recorded } from '../stand-ins/eventstoredb/law.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'

export type Stack = {
  readonly eventstore: {
    readonly kill: () => void
    readonly restart: () => Promise<void>
    /** Returns its present content. */
    readonly copy: () => readonly Recorded[]
    /** Stops, and restarts on its port with a copy, or empty without one. */
    readonly restore: (copy?: readonly Recorded[]) => Promise<void>
    /** While true, it accepts calls without answering. */
    readonly hang: (hangs: boolean) => void
    /** Runs `work` before the next append to a matching stream. */
    readonly overtake: (name: RegExp, work: () => Promise<unknown>) => void
  }
  readonly mongo: Server
  readonly redis: Server
  /** Settings of an instance on these servers. */
  readonly settings: Readonly<Record<string, string>>
}

/**
 * Starts the servers of a deployment: the stand-in of EventStoreDB, FerretDB and Redis; returns the reason if they are
 * not available. `ahead`: ms by which a follower of the event store delivers before its leader.
 */
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
