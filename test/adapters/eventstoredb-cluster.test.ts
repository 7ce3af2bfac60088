import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { collect, happened, refused } from '../contracts/log.ts'
import type { Faults } from '../stand-ins/eventstoredb/server.ts'
import { failure } from '../stand-ins/eventstoredb/wire.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { walking } from '../walking-clock.ts'
import { following, fresh, ids, open, threeNodes } from './eventstoredb-nodes.ts'

void t.test('the event log follows a change of leader, even if nodes name the old leader', async (t) => {
  const { cluster, a, b, c, url } = await threeNodes(t)
  const { log } = await open(t, url, { deadline: 500, patience: 10_000 })
  const seen = following(t, log)
  const stream = fresh()
  let last = -1n
  const write = async () => {
    const { revision } = await log.append(stream, [happened(Number(last) + 1)], last < 0n ? 'none' : last)
    t.equal(revision, last + 1n)
    last = revision
  }
  const writeMany = async () => {
    for (let n = 0; n < 10; n++) await write()
  }
  await writeMany()
  cluster.leader = b.port
  await writeMany()
  a.kill()
  cluster.ports.delete(a.port)
  await writeMany()
  // The leader dies, and its followers continue to name it until the election is over.
  b.kill()
  const before = c.counts.gossip
  const writing = writeMany()
  await eventually(() => c.counts.gossip >= before + 3, 'those who ask for the leader')
  cluster.leader = c.port
  cluster.ports.delete(b.port)
  await writing
  await eventually(() => seen.length === 40, 'the events')
  t.same(
    seen.map(({ revision }) => revision),
    Array.from({ length: 40 }, (_, n) => BigInt(n)),
  )
  t.ok(c.counts.append >= 10)
})

void t.test('the loss of a whole cluster during calls causes no unhandled rejection', async (t) => {
  const faults: Faults = {}
  const { cluster, nodes, url } = await threeNodes(t, '&maxDiscoverAttempts=10', faults)
  const { log } = await open(t, url, { deadline: 2000, patience: 1500 })
  await log.head()
  let turnedAway = false
  faults.before = (call) => {
    // One call waits on the old connection, while the answer to the other makes the driver search for a new leader in
    // vain.
    if (call === 'append') return new Promise(() => {})
    if (turnedAway) return
    turnedAway = true
    throw failure(14, 'Server Is Not Ready')
  }
  const rejected: unknown[] = []
  const onRejection = (reason: unknown) => rejected.push(reason)
  process.on('unhandledRejection', onRejection)
  t.teardown(() => process.off('unhandledRejection', onRejection))
  const waiting = log.append(fresh(), [happened(1)], 'none')
  await eventually(() => nodes[0]!.counts.append === 1, 'the append')
  const turned = log.head()
  cluster.ports.clear()
  const gossip = () => nodes.reduce((sum, { counts }) => sum + counts.gossip, 0)
  const before = gossip()
  await eventually(() => turnedAway && gossip() > before, 'the search for another leader')
  for (const node of nodes) node.kill()
  await Promise.all([refused(t, waiting, 'backend_unavailable'), refused(t, turned, 'backend_unavailable')])
  // A search for a leader that starts now ends after all earlier ones.
  const last = await open(t, url, { deadline: 2000, patience: 1500 })
  await refused(t, last.log.head(), 'backend_unavailable')
  t.ok(turnedAway)
  t.same(rejected, [])
})

void t.test('a hanging leader is replaced, and its pending append is written once', async (t) => {
  const { cluster, a, b, c, url } = await threeNodes(t)
  const { log } = await open(t, url, { deadline: 300, patience: 10_000 })
  const seen = following(t, log)
  const stream = fresh()
  const events = Array.from({ length: 4 }, (_, n) => happened(n))
  await log.append(stream, [events[0]!], 'none')
  a.freeze(true)
  // Until the election the other nodes continue to name it.
  const gossip = () => b.counts.gossip + c.counts.gossip
  const before = gossip()
  const writing = log.append(stream, [events[1]!], 0n)
  await eventually(() => gossip() >= before + 3, 'those who ask for the leader')
  cluster.leader = b.port
  t.equal((await writing).revision, 1n)
  t.ok(b.counts.append > 0)
  t.equal((await log.append(stream, [events[2]!], 1n)).revision, 2n)
  a.freeze(false)
  t.equal((await log.append(stream, [events[3]!], 2n)).revision, 3n)
  // The node answers in order: the held-back append comes before this call.
  await (await open(t, a.url)).log.head().catch(() => undefined)
  t.same(ids(await collect(log.read(stream))), ids(events as never))
  await eventually(() => seen.length === 4, 'the events')
  t.same(ids(seen), ids(events as never))
})

void t.test('a hanging EventStoreDB follower delays the events of one subscription only', async (t) => {
  const { b, c, url } = await threeNodes(t)
  const { log } = await open(t, url, { deadline: 2000 })
  const subscribed = () => b.counts.subscribe + c.counts.subscribe
  /** Number of subscriptions at the arrival of each event. */
  const seen: number[] = []
  const stop = new AbortController()
  const ended = (async () => {
    for await (const page of log.follow(0n, stop.signal)) for (const _ of page) seen.push(subscribed())
  })()
  t.teardown(async () => {
    stop.abort()
    await ended
  })
  const stream = fresh()
  await log.append(stream, [happened(0)], 'none')
  await eventually(() => seen.length === 1 && subscribed() > 0, 'the events')
  // The chosen node keeps its connections open but confirms nothing and sends nothing; gossip still lists it as alive.
  for (const node of [b, c]) node.freeze(true)
  for (let n = 1; n <= 5; n++) {
    const before = subscribed()
    await log.append(stream, [happened(n)], BigInt(n - 1))
    await eventually(() => seen.length === n + 1, 'the event')
    t.ok(seen[n]! - before <= 1, `${seen[n]! - before} subscriptions later`)
  }
})

void t.test('calls that need the leader go to the leader, whichever kind of node the operator prefers', async (t) => {
  const { a, b, c, url } = await threeNodes(t, '&nodePreference=follower')
  const { log } = await open(t, url)
  const stream = fresh()
  const seen = following(t, log)
  await log.append(stream, [happened(1)], 'none')
  await eventually(() => seen.length === 1 && b.counts.subscribe + c.counts.subscribe > 0, 'the events')
  t.equal(b.counts.elsewhere + c.counts.elsewhere, 0, 'no node sent a call on')
  t.equal(a.counts.subscribe, 0, 'what is only followed is followed at a follower')
})

void t.test('after a leader was cut off, its pending appends get the result of the new leader', async (t) => {
  const { cluster, a, b } = await threeNodes(t)
  const at = (port: number) => `esdb://127.0.0.1:${port}?tls=false`
  const [one, two, other] = [
    await open(t, at(a.port), { deadline: 300 }),
    await open(t, at(a.port), { deadline: 300 }),
    await open(t, at(b.port)),
  ]
  const [contested, free] = [fresh(), fresh()]
  const [first, taken] = [happened(0), happened(1)]
  await one.log.append(contested, [first], 'none')
  await one.log.append(free, [happened(0)], 'none')
  const known = await one.log.head()
  const before = a.counts.append
  a.cutOff(true)
  cluster.leader = b.port
  const { positions } = await other.log.append(contested, [taken], 0n)

  // Both use the old leader: the first append is still possible there, the second conflicts with another.
  const mine = [happened(2), happened(3), happened(4), happened(5)] as const
  const outcomes = Promise.allSettled([
    one.log.append(contested, [mine[0]], 0n),
    two.log.append(contested, [mine[1]], 0n),
    one.log.append(free, [mine[2]], 0n),
    two.log.append(free, [mine[3]], 0n),
  ])
  await eventually(() => a.counts.append >= before + 4, 'the four')
  t.equal(await one.log.head(), known, 'what it says of the head is old, for as long as it believes that it leads')
  await eventually(() => a.counts.append >= before + 6, 'some of them again')
  a.cutOff(false)
  const [lost, late, ...raced] = await outcomes
  t.match([lost, late], [{ reason: { reason: 'write_conflict' } }, { reason: { reason: 'write_conflict' } }])
  t.same(ids(await collect(one.log.read(contested))), [first.id, taken.id])
  t.same(
    raced.map(({ status }) => status).toSorted(),
    ['fulfilled', 'rejected'],
    'one of two wins where nobody else came',
  )
  const winner = raced.findIndex(({ status }) => status === 'fulfilled')
  t.same(ids(await collect(one.log.read(free, 1n))), [mine[2 + winner]!.id])
  t.ok((await one.log.head()) > positions[0]!)
})

void t.test('an undecided append that is stored late answers an append of the same ids with other data', async (t) => {
  const { a } = await threeNodes(t)
  const clock = virtualClock()
  const { log } = await open(t, `esdb://127.0.0.1:${a.port}?tls=false`, { clock })
  const stream = fresh()
  const event = happened(1)
  a.loseQuorum(true)
  await walking([clock], () => refused(t, log.append(stream, [event], 'none'), 'backend_unavailable'))
  t.same(await collect(log.read(stream)), [], 'no read shows it')
  a.loseQuorum(false)
  const { revision, positions } = await log.append(stream, [happened(2, event.id)], 'none')
  t.same(await collect(log.read(stream)), [{ ...event, stream, revision, position: positions[0] }], 'the first data')
})

/** A separate process that appends, follows, closes while calls may be pending, and must end by itself. */
const used = `
  const [, adapter, time, url] = process.argv
  const { openEventStore } = await import(adapter)
  const { systemClock: clock } = await import(time)
  const log = await openEventStore(url, { clock, prefix: '', categories: ['test'], onError: () => {}, deadline: 500, patience: 4000 })
  const event = (n) => ({ id: crypto.randomUUID(), type: 'Happened', time: new Date(n).toISOString(), data: '{}', meta: '{}' })
  const follow = async () => { for await (const _ of log.follow(0n, new AbortController().signal)); }
  const quietly = (asked) => asked.catch(() => undefined)
  const all = [follow(), log.append('test-' + crypto.randomUUID(), [event(1)], 'none'), log.head()].map(quietly)
  await Promise.race(all)
  all.push(quietly(log.head()))
  await log.close()
  await Promise.all(all)
  process.stdout.write('closed')
`

void t.test('a closed event log keeps no process alive, even if its cluster hangs or is gone', async (t) => {
  const { nodes, url } = await threeNodes(t)
  const adapter = new URL('../../src/adapters/eventstoredb/open.js', import.meta.url).href
  const time = new URL('../../src/base/clock.js', import.meta.url).href
  const check = async (how: string) => {
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '-e',
      used,
      adapter,
      time,
      url,
    ])
    t.equal(stdout, 'closed', how)
  }
  await check('answers')
  for (const node of nodes) node.freeze(true)
  await check('hangs')
  for (const node of nodes) node.kill()
  await check('is gone')
})
