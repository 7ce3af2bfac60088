import { randomInt } from 'node:crypto'
import t from 'tap'
import type { EventLog, NewEvent, Stored } from '../../src/events/log.ts'
import { happened } from '../contracts/log.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { eventually } from '../wait.ts'
import { following, open, threeNodes } from './eventstoredb-nodes.ts'

/** Schedule of faults by number of appends, reproducible by seed. */
const seed = Number(process.env['ROLLCALL_TEST_SEED'] ?? randomInt(2 ** 31))
const drawn = (() => {
  let state = seed
  return (most: number) => {
    state = (state * 48_271 + 1) % (2 ** 31 - 1)
    return 1 + (state % most)
  }
})()

const placed = ({ id, position }: Stored) => `${id} ${position}`

/** Appends to one stream until it is stopped, retries refused appends, and records the acknowledged ones. */
const writer = async (
  log: EventLog,
  stream: string,
  size: number,
  running: () => boolean,
  onAcknowledged: () => void,
): Promise<readonly string[]> => {
  const acknowledged: string[] = []
  let refused: readonly NewEvent[] | undefined
  while (running() || refused) {
    const events: readonly NewEvent[] =
      refused ?? Array.from({ length: size }, (_, n) => happened(acknowledged.length + n))
    try {
      const last = acknowledged.length === 0 ? 'none' : BigInt(acknowledged.length - 1)
      const { positions } = await log.append(stream, events, last)
      for (const [n, { id }] of events.entries()) acknowledged.push(`${id} ${positions[n]}`)
      refused = undefined
      onAcknowledged()
    } catch {
      refused = events
    }
  }
  return acknowledged
}

void t.test('under random faults of three nodes each acknowledged event is stored and delivered once', async (t) => {
  const { cluster, nodes, a, url } = await threeNodes(t)
  const { law } = a
  const logs = [
    await open(t, url, { deadline: 300 }),
    await open(t, url, { deadline: 300 }),
    await open(t, url, { deadline: 300 }),
  ]
  const rejected: unknown[] = []
  const onRejection = (reason: unknown) => rejected.push(reason)
  process.on('unhandledRejection', onRejection)
  t.teardown(() => process.off('unhandledRejection', onRejection))
  const seen = following(t, logs[0]!.log)
  let running = true
  let acks = 0
  t.comment(`seed ${seed}`)
  /** Waits for this number of further acknowledged appends. */
  const appended = (count: number) => {
    const enough = acks + count
    return eventually(() => acks >= enough, `${count} appends`)
  }
  /** Waits for this number of further gossip requests. */
  const sought = (count: number) => {
    const asked = () => nodes.reduce((sum, { counts }) => sum + counts.gossip, 0)
    const enough = asked() + count
    return eventually(() => asked() >= enough, `${count} who look for the leader`)
  }
  const writing = Promise.all(
    Array.from({ length: 12 }, (_, n) =>
      writer(
        logs[n % 3]!.log,
        `test-${n}`,
        1 + (n % 3),
        () => running,
        () => void acks++,
      ),
    ),
  )

  const leader = () => nodes.findIndex(({ port }) => port === cluster.leader)
  const elect = (index: number) => {
    cluster.leader = nodes[index % 3]!.port
  }
  const start = async (index: number) => {
    const node: StandIn = await startEventStore({ cluster, law, port: nodes[index]!.port })
    t.teardown(() => node.kill())
    nodes[index] = node
  }
  const faults: Readonly<Record<string, (led: number) => Promise<void>>> = {
    resigns: async (led) => elect(led + 1),
    killed: async (led) => {
      nodes[led]!.kill()
      await sought(drawn(3))
      elect(led + 1)
      await appended(drawn(20))
      await start(led)
    },
    hangs: async (led) => {
      nodes[led]!.freeze(true)
      await sought(drawn(3))
      elect(led + 1)
      await appended(drawn(40))
      nodes[led]!.freeze(false)
    },
    cutOff: async (led) => {
      nodes[led]!.cutOff(true)
      elect(led + 2)
      await appended(drawn(40))
      nodes[led]!.cutOff(false)
    },
    allKilled: async (led) => {
      for (const [n, node] of nodes.entries()) {
        node.kill()
        if (n === led && n < 2) await sought(1)
      }
      for (const index of nodes.keys()) await start(index)
    },
    dropped: async () => {
      for (const node of nodes) node.drop()
    },
  }
  for (const [name, happen] of Object.entries(faults)) {
    t.comment(`the leader ${name}`)
    await happen(leader())
    await appended(drawn(60))
  }
  running = false
  const acknowledged = await writing

  const written = law.all.filter(({ stream }) => stream.startsWith('test-'))
  for (const [n, mine] of acknowledged.entries()) {
    const there = written.filter(({ stream }) => stream === `test-${n}`)
    t.ok(mine.length > 2, `${mine.length} events`)
    t.same(
      there.map(({ id, position }) => `${id} ${position}`),
      mine,
    )
  }
  await eventually(() => seen.length >= written.length, 'the events')
  t.same(
    seen.map(placed),
    written.map(({ id, position }) => `${id} ${position}`),
  )
  t.same(rejected, [], 'nothing was left to nobody')
})
