import t from 'tap'
import type { EventLog, NewEvent, Stored } from '../../src/events/log.ts'
import { happened } from '../contracts/log.ts'
import { type StandIn, startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { following, open, sleep, threeNodes, until } from './eventstoredb-nodes.ts'

const placed = ({ id, position }: Stored) => `${id} ${position}`

/** Writes to one stream until it is told to stop, each append as often as it is refused, and keeps what was acknowledged. */
const writer = async (
  log: EventLog,
  stream: string,
  size: number,
  running: () => boolean,
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
    } catch {
      refused = events
    }
  }
  return acknowledged
}

void t.test(
  'whatever befalls three nodes, each acknowledged event stands once where it was said to, and is followed once',
  async (t) => {
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
    const writing = Promise.all(
      Array.from({ length: 12 }, (_, n) => writer(logs[n % 3]!.log, `test-${n}`, 1 + (n % 3), () => running)),
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
        await sleep(200)
        elect(led + 1)
        await sleep(200)
        await start(led)
      },
      hangs: async (led) => {
        nodes[led]!.freeze(true)
        await sleep(700)
        elect(led + 1)
        await sleep(500)
        nodes[led]!.freeze(false)
      },
      cutOff: async (led) => {
        nodes[led]!.cutOff(true)
        elect(led + 2)
        await sleep(400)
        nodes[led]!.cutOff(false)
      },
      allKilled: async () => {
        for (const node of nodes) {
          node.kill()
          await sleep(60)
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
      await sleep(300)
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
    await until(() => seen.length >= written.length)
    t.same(
      seen.map(placed),
      written.map(({ id, position }) => `${id} ${position}`),
    )
    t.same(rejected, [], 'nothing was left to nobody')
  },
)
