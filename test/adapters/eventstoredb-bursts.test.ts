import t, { type Test } from 'tap'
import { systemClock } from '../../src/clock.ts'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { collect, happened } from '../contracts/log.ts'
import type { Faults } from '../stand-ins/eventstoredb/server.ts'
import { categories, fresh, ids, sleep, started, until } from './eventstoredb-nodes.ts'

/** A log on a server that can hold calls back, with what it made anew and how many reads of streams it had at once. */
const slowServer = async (t: Test, deadline = 3_000) => {
  const faults: Faults = {}
  const server = await started(t, faults)
  const restarts: string[] = []
  const log = await openEventStore(server.now().url, {
    clock: systemClock,
    prefix: '',
    categories,
    deadline,
    onError: (_, error) => t.comment(error),
    onRestart: (what) => restarts.push(what),
  })
  t.teardown(() => log.close())
  let [now, most] = [0, 0]
  /** Every read of a stream takes so many milliseconds from here on. */
  const slow = (ms: number) => {
    faults.before = async (call, stream) => {
      if (call !== 'read' || stream === '') return
      most = Math.max(most, ++now)
      await sleep(ms)
      now--
    }
  }
  return { log, faults, server, restarts, slow, most: () => most }
}

await t.test('many more reads at once than a connection carries are all answered on it', async (t) => {
  const { log, restarts, slow, most, server } = await slowServer(t)
  await log.head()
  slow(100)
  const streams = Array.from({ length: 600 }, fresh)
  const reads = streams.map((stream) => collect(log.read(stream)))
  const appended = log.append(fresh(), [happened(1)], 'none')
  await log.head()
  t.ok(server.now().counts.read < 600, 'the head is answered meanwhile')
  t.equal((await appended).revision, 0n)
  t.equal((await Promise.all(reads)).flat().length, 0)
  t.strictSame(restarts, [])
  t.ok(most() > 1 && most() < 40, `${most()} at once`)
})

await t.test('who asks for the same stream at once shares a read, one that was begun after it asked', async (t) => {
  const { log, faults, server } = await slowServer(t)
  const [stream, first, second] = [fresh(), happened(1), happened(2)]
  await log.append(stream, [first], 'none')
  const before = server.now().counts.read
  const held: (() => void)[] = []
  faults.before = (call, name) => {
    return call === 'read' && name === stream ? new Promise<void>((go) => held.push(go)) : undefined
  }
  const early = collect(log.read(stream))
  await until(() => held.length === 1)
  await log.append(stream, [second], 0n)
  const late = Array.from({ length: 40 }, () => collect(log.read(stream)))
  await sleep(20)
  t.equal(held.length, 1, 'one read a stream at a time')
  held[0]!()
  await until(() => held.length === 2)
  held[1]!()
  await early
  for (const events of await Promise.all(late)) t.same(ids(events), [first.id, second.id])
  t.equal(server.now().counts.read - before, 2)
})

await t.test('reads that are never answered leave those in line refused, and the line empty', async (t) => {
  const faults: Faults = {}
  const server = await started(t, faults)
  const log = await openEventStore(server.now().url, {
    clock: systemClock,
    prefix: '',
    categories,
    deadline: 200,
    patience: 600,
    onError: (_, error) => t.comment(error),
  })
  t.teardown(() => log.close())
  await log.head()
  const held: (() => void)[] = []
  faults.before = () => new Promise<void>((go) => held.push(go))
  const all = await Promise.allSettled(Array.from({ length: 300 }, () => collect(log.read(fresh()))))
  t.ok(all.every((one) => one.status === 'rejected' && one.reason.reason === 'backend_unavailable'))
  t.ok(held.length < 250, `${held.length} were on the wire`)
  delete faults.before
  for (const go of held) go()
  t.strictSame(await collect(log.read(fresh())), [])
})
