import t, { type Test } from 'tap'
import { READS } from '../../src/adapters/eventstoredb/connection.ts'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { collect, happened } from '../contracts/log.ts'
import type { Faults } from '../stand-ins/eventstoredb/server.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'
import { categories, fresh, ids, started } from './eventstoredb-nodes.ts'

/** A log with a stopped clock on a server that can hold back calls, and the number of replaced connections. */
const heldServer = async (
  t: Test,
  limits: { readonly deadline?: number; readonly patience?: number } = { deadline: 3_000, patience: 8_000 },
) => {
  const faults: Faults = {}
  const server = await started(t, faults)
  const clock = virtualClock()
  const restarts: string[] = []
  const log = await openEventStore(server.now().url, {
    clock,
    prefix: '',
    categories,
    ...limits,
    onError: (_, error) => t.comment(error),
    onRestart: (what) => restarts.push(what),
  })
  t.teardown(() => log.close())
  /** Stream reads that the server holds back. */
  const held: (() => void)[] = []
  const hold = () => {
    faults.before = (call, stream) =>
      call === 'read' && stream !== '' && stream !== '$all' ? new Promise<void>((go) => held.push(go)) : undefined
  }
  const release = () => {
    delete faults.before
    for (const go of held.splice(0)) go()
  }
  return { log, faults, server, clock, restarts, held, hold, release }
}

await t.test('more concurrent reads than one connection carries all complete', async (t) => {
  const { log, restarts, held, hold, release, server } = await heldServer(t)
  await log.head()
  hold()
  const streams = Array.from({ length: 600 }, fresh)
  const reads = streams.map((stream) => collect(log.read(stream)))
  await eventually(() => held.length >= READS.stream, 'as many reads as may be on the wire')
  const appended = log.append(fresh(), [happened(1)], 'none')
  await log.head()
  t.equal((await appended).revision, 0n)
  t.equal(held.length, READS.stream, 'the head and an append are answered meanwhile, and no other read is asked for')
  release()
  t.equal((await Promise.all(reads)).flat().length, 0)
  t.ok(server.now().counts.read >= 600)
  t.strictSame(restarts, [])
})

await t.test('concurrent reads of one stream share a single read that starts after the last request', async (t) => {
  const { log, faults, server } = await heldServer(t)
  const [stream, first, second] = [fresh(), happened(1), happened(2)]
  await log.append(stream, [first], 'none')
  const before = server.now().counts.read
  const held: (() => void)[] = []
  faults.before = (call, name) => {
    return call === 'read' && name === stream ? new Promise<void>((go) => held.push(go)) : undefined
  }
  const early = collect(log.read(stream))
  await eventually(() => held.length === 1, 'the first read')
  await log.append(stream, [second], 0n)
  const late = Array.from({ length: 40 }, () => collect(log.read(stream)))
  await collect(log.read(fresh()))
  t.equal(held.length, 1, 'one read a stream at a time')
  held[0]!()
  await eventually(() => held.length === 2, 'the second read')
  held[1]!()
  await early
  for (const events of await Promise.all(late)) t.same(ids(events), [first.id, second.id])
  t.equal(server.now().counts.read - before, 3, 'two of this stream, and one of another')
})

await t.test('if the server does not answer, waiting reads fail and the queue is empty afterwards', async (t) => {
  const { log, clock, held, hold, release } = await heldServer(t, { deadline: 200, patience: 600 })
  await log.head()
  hold()
  const all = Array.from({ length: 300 }, () => collect(log.read(fresh())))
  const outcomes = Promise.allSettled(all)
  let settled = 0
  for (const one of all) void one.catch(() => undefined).finally(() => settled++)
  await eventually(() => held.length === READS.stream, 'those that have their turn')
  await eventually(async () => {
    await clock.advance(50)
    return settled === 300
  }, 'the end of all')
  for (const one of await outcomes) t.ok(one.status === 'rejected' && one.reason.reason === 'backend_unavailable')
  t.ok(held.length < 250, `${held.length} were on the wire`)
  release()
  t.strictSame(await collect(log.read(fresh())), [])
})

await t.test('by default a call of EventStoreDB takes at most 1,750 ms and waits at most 10 s to begin', async (t) => {
  const { log, clock, held, hold, release } = await heldServer(t, {})
  await log.head()
  hold()
  const all = Array.from({ length: READS.stream + 1 }, () => collect(log.read(fresh())))
  await eventually(() => held.length === READS.stream, 'those that have their turn')
  t.same(clock.waiting(), [...Array.from({ length: READS.stream }, () => 1_750), 10_000])
  release()
  await Promise.all(all)
})

await t.test('the time limit of an append uses the clock of the event log only', async (t) => {
  const { log, faults, server } = await heldServer(t, { deadline: 1, patience: 8_000 })
  const held: (() => void)[] = []
  faults.before = (call) => (call === 'append' ? new Promise<void>((go) => held.push(go)) : undefined)
  const appended = log.append(fresh(), [happened(1)], 'none')
  await eventually(() => held.length === 1, 'the append at the server')
  for (let n = 0; n < 100; n++) await log.head()
  held[0]!()
  t.equal((await appended).revision, 0n)
  t.equal(server.now().counts.append, 1, 'it was sent once')
})
