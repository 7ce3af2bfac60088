import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { EventLog, Stored } from '../../src/events/log.ts'
import type { Cluster } from '../stand-ins/eventstoredb/cluster.ts'
import { type Faults, type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'

export const categories = ['test']
export const fresh = () => `test-${randomUUID()}`
export const ids = (events: readonly Stored[]) => events.map(({ id }) => id)
type Opened = { readonly log: EventLog; readonly errors: unknown[] }
/** A log that is closed with the test, and the errors that its followers reported. */
export const open = async (
  t: Test,
  url: string,
  {
    deadline = 400,
    patience = 8000,
    inFlight = 4000,
    clock = systemClock,
  }: {
    readonly deadline?: number
    readonly patience?: number
    readonly inFlight?: number
    readonly clock?: Clock
  } = {},
): Promise<Opened> => {
  const errors: unknown[] = []
  const log = await openEventStore(url, {
    clock,
    prefix: '',
    categories,
    onError: (_, error) => errors.push(error),
    deadline,
    patience,
    inFlight,
  })
  t.teardown(() => log.close())
  return { log, errors }
}

/** A server of this test that can be restarted with its data. */
export const started = async (t: Test, faults: Faults = {}) => {
  let server: StandIn = await startEventStore({ faults })
  t.teardown(() => server.kill())
  return {
    now: () => server,
    restart: async () =>
      void (server = await startEventStore({ faults, law: server.law, port: server.port, cluster: server.cluster })),
  }
}

/** All events that a follower has received so far. */
export const following = (t: Test, log: EventLog, after = 0n) => {
  const stop = new AbortController()
  const seen: Stored[] = []
  const ended = (async () => {
    for await (const page of log.follow(after, stop.signal)) seen.push(...page)
  })()
  t.teardown(async () => {
    stop.abort()
    await ended
  })
  return seen
}

/** Three nodes of one log; the first is the leader. `url` contains all of them. */
export const threeNodes = async (t: Test, query = '', faults: Faults = {}) => {
  const cluster: Cluster = { leader: 0, ports: new Set() }
  const a = await startEventStore({ cluster, faults })
  const b = await startEventStore({ cluster, law: a.law })
  const c = await startEventStore({ cluster, law: a.law })
  const nodes = [a, b, c]
  for (const node of nodes) t.teardown(() => node.kill())
  return {
    cluster,
    a,
    b,
    c,
    nodes,
    url: `esdb+discover://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}?tls=false${query}`,
  }
}
