import { randomBytes } from 'node:crypto'
import t from 'tap'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { scriptedMongo } from '../../stand-ins/mongodb.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

const NONE = { ok: 1, cursor: { id: 0n, ns: 'test.none', firstBatch: [] } }
const SCRUB = { at: '2026-01-01T00:00:00.000Z', through: 0, ok: true }

/** A promise, and the function that resolves it. */
const gate = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open: () => open() }
}

await t.test('calls under way outlive a heartbeat of MongoDB that has no answer', async (t) => {
  const [heartbeat, late] = [gate(), gate()]
  const commands: string[] = []
  let [connections, held, heartbeats] = [0, false, 0]
  const url = await scriptedMongo(
    t,
    (command) => {
      const [name, collection] = Object.entries(command)[0]!
      if (name !== 'endSessions') commands.push(`${name} ${collection}`)
      return 'find' in command ? NONE : { ok: 1, n: 1 }
    },
    {
      before: (what, command) => {
        if (!held) return undefined
        if (what === 'heartbeat') {
          heartbeats++
          return heartbeat.opened
        }
        return command['find'] === 'deployment' ? undefined : late.opened
      },
      onConnection: () => void connections++,
    },
  )
  const mongo = await openMongo(url, 'test', { clock: systemClock, onError: (error) => t.fail(String(error)) })
  t.teardown(mongo.close)
  // Both calls below find a connection that is open.
  await Promise.all([mongo.binding.read(), mongo.binding.read()])
  held = true
  await eventually(() => heartbeats > 0, 'a heartbeat')
  const before = connections
  commands.length = 0

  const slow = mongo.snapshots.read()
  const refused = await mongo.ledger.writeScrub(SCRUB).catch((error: unknown) => error as Error)
  // The time limit of a write is the timer of this test: the heartbeat has had no answer for longer.
  t.match(refused, { reason: 'backend_unavailable', cause: { message: 'MongoDB did not answer within 2000 ms' } })
  t.equal(await mongo.binding.read(), undefined, 'another call has an answer')
  late.open()
  t.equal(await slow, undefined, 'a call that was under way has its answer')
  heartbeat.open()
  await mongo.binding.read()
  t.strictSame(commands, ['find snapshots', 'update ledger', 'find deployment', 'find deployment'], 'none was repeated')
  t.ok(connections - before <= 1, 'no connection was replaced')
})

await t.test('writes of every kind without an answer leave connections for reads', async (t) => {
  const [WRITES, MOST] = [10, 3]
  let silent = false
  let waiting = 0
  const late = gate()
  const url = await scriptedMongo(
    t,
    ({ find, findAndModify, query, update }) => {
      if (findAndModify) return { ok: 1, value: { ...query, ...update.$setOnInsert } }
      return find ? NONE : { ok: 1, n: 1, nModified: 1 }
    },
    {
      before: (what, command) => {
        if (!silent || what === 'heartbeat' || 'find' in command) return undefined
        waiting++
        return late.opened
      },
    },
  )
  const mongo = await openMongo(`${url}/?maxPoolSize=5`, 'test', { clock: virtualClock(), onError: () => undefined })
  t.teardown(mongo.close)
  const keys = await mongo.keys(randomBytes(32))
  silent = true
  const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
    'a document': () => mongo.ledger.writeScrub(SCRUB),
    'many documents': () => mongo.ledger.dropTiles(),
    'the end of keys': () => keys.destroy('someone'),
    'an identity': () => mongo.binding.write({ event: 'e', position: 1n }),
  }
  const writes = Object.values(kinds).flatMap((write) => Array.from({ length: WRITES }, write))
  await eventually(() => waiting === MOST, 'the writes that may be sent')
  const reads = await Promise.all([mongo.binding.read(), mongo.binding.read(), mongo.binding.read()])
  t.strictSame(reads, [undefined, undefined, undefined], 'reads have answers')
  t.equal(waiting, MOST)
  late.open()
  await Promise.all(writes.map((write) => write.catch(() => undefined)))
})
