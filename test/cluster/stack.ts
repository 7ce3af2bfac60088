import type { Test } from 'tap'
import { type Owner, ownMongo, ownRedis, type Server, STAND_IN_BULK } from '../adapters/servers.ts'
import type { Cluster } from '../stand-ins/eventstoredb/cluster.ts'
import { law as lawOf, type Recorded } from '../stand-ins/eventstoredb/law.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { lacking, type Named, namedServers, type ServerName, settingsOn } from './named-servers.ts'

/** Control of the servers of a stack. A server that the environment names has none. */
export type Controls = {
  readonly eventstore: {
    readonly kill: () => void
    readonly restart: () => Promise<void>
    /** Returns its present content. */
    readonly copy: () => readonly Recorded[]
    /** Stops, and restarts on its port with a copy, or empty without one. */
    readonly restore: (copy?: readonly Recorded[]) => Promise<void>
    /** While true, it accepts calls without answering. */
    readonly hang: (hangs: boolean) => void
    /** While true, appends are undecided: accepted, but neither acknowledged nor shown. Then they are in the log. */
    readonly loseQuorum: (lost: boolean) => void
    /** Number of appends that the server has received. */
    readonly appends: () => number
    /** Runs `work` before the next append to a matching stream. */
    readonly overtake: (name: RegExp, work: () => Promise<unknown>) => void
  }
  readonly mongodb: Server
  readonly redis: Server
}
/** The servers that a test controls, each with the kind of control. */
export type Needs<C extends ServerName> = Readonly<Record<C, string>>
/** Servers of a deployment. The test controls the servers `C`, and each other server that is a stand-in. */
export type Stack<C extends ServerName = never> = Pick<Controls, C> & {
  readonly [S in ServerName]: Controls[S] | null
} & {
  /** Settings of an instance on these servers. */
  readonly settings: Readonly<Record<string, string>>
}

const startEvents = async (t: Owner, ahead: number | undefined) => {
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
  const control: Controls['eventstore'] = {
    kill: () => events.kill(),
    hang: (hangs) => {
      events.silence(hangs)
      if (hangs) events.faults.before = () => new Promise((released) => held.push(released))
      else delete events.faults.before
      for (const release of held) release()
      held = []
    },
    loseQuorum: (lost) => events.loseQuorum(lost),
    appends: () => events.counts.append,
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
  return { control, url: `esdb://${[...cluster.ports].map((node) => `127.0.0.1:${node}`).join(',')}?tls=false` }
}

/**
 * Servers of a deployment: the named ones, and stand-ins of the others (EventStoreDB, FerretDB, Redis). Returns the
 * reason if a server is not available, or if a server that the test controls is a named one. `ahead`: ms by which a
 * follower of the event store delivers before its leader.
 */
export const startStack = async <C extends ServerName = never>(
  t: Owner,
  {
    needs = {} as Needs<C>,
    ahead,
    named = namedServers(),
  }: { readonly needs?: Needs<C>; readonly ahead?: number | undefined; readonly named?: Named } = {},
): Promise<
  { readonly stack: Stack<C>; readonly skip: false } | { readonly stack?: undefined; readonly skip: string }
> => {
  const skip = lacking(needs, named)
  if (skip !== false) return { skip }
  const [mongo, redis] = [
    named.mongodb === undefined ? await ownMongo(t) : undefined,
    named.redis === undefined ? await ownRedis(t) : undefined,
  ]
  if (mongo?.skip) return { skip: mongo.skip }
  if (redis?.skip) return { skip: redis.skip }
  const events = named.eventstore === undefined ? await startEvents(t, ahead) : undefined
  const settings = {
    'storage.type': 'cluster',
    ...(events && { 'eventstore.url': events.url }),
    ...(mongo?.server && {
      'mongodb.url': mongo.server.url,
      'mongodb.database': `t${process.pid}`,
      'mongodb.bulk_size': String(STAND_IN_BULK),
    }),
    ...(redis?.server && { 'redis.url': redis.server.url }),
    ...settingsOn(named, t),
  }
  const controls = {
    eventstore: events?.control ?? null,
    mongodb: mongo?.server ?? null,
    redis: redis?.server ?? null,
  }
  return { stack: { ...controls, settings } as Stack<C>, skip: false }
}

/** Runs a test on a stack whose servers it controls; skipped with the reason if one of them is a named server. */
export const controlling = <C extends ServerName>(
  t: Test,
  stack: Stack,
  needs: Needs<C>,
  name: string,
  body: (t: Test, stack: Stack<C>) => Promise<unknown>,
) => t.test(name, { skip: lacking(needs) }, (t) => body(t, stack as Stack<C>))
