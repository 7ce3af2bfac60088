import { randomBytes } from 'node:crypto'
import type { Document } from 'mongodb'
import t from 'tap'
import { patience } from '../../../src/adapters/mongodb/calls.ts'
import { openMongo } from '../../../src/adapters/mongodb/open.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { scriptedMongo } from '../../stand-ins/mongodb.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'

const READS = ['find', 'aggregate', 'count', 'distinct'] as const
const view = { name: 'pets', version: 1, fields: ['name', 'size'], indexes: [] }

/** A lease of another holder. */
const lease = { _id: 'writer', holder: 'somebody', term: 1, beat: 1 }

/** A server that has only a lease, and the reads that it received. */
const listening = async (tap: Parameters<typeof scriptedMongo>[0]) => {
  const reads: Document[] = []
  const url = await scriptedMongo(tap, (command) => {
    const read = READS.some((name) => name in command)
    if (read) reads.push(command)
    return read
      ? { ok: 1, cursor: { id: 0n, ns: 'test.none', firstBatch: command['find'] === 'leases' ? [lease] : [] } }
      : undefined
  })
  return { url, reads }
}

await t.test('each read sends its time limit to MongoDB', async (t) => {
  const { url, reads } = await listening(t)
  const onError = (error: unknown) => t.fail(String(error))
  const mongo = await openMongo(url, 'test', { clock: systemClock, onError })
  t.teardown(mongo.close)
  const { views, snapshots } = mongo
  const drain = async (rows: AsyncIterable<unknown>) => {
    for await (const _ of rows);
  }
  const all: Readonly<Record<string, () => Promise<unknown>>> = {
    get: () => views.get(view, 'a'),
    getMany: () => views.getMany(view, ['a', 'b']),
    list: () => views.list(view, { where: { name: { equals: ['x'] } }, order: 'size', limit: 10, count: 100 }),
    scan: () => drain(views.scan(view)),
    tally: () => views.tally(view, 'name', 'size'),
    checkpoint: () => views.checkpoint(view),
    totals: () => views.totals(view),
    newest: () => views.newest(view),
    record: () => views.record('kept', 'a'),
    records: () => views.records('kept', ['a', 'b']),
    snapshot: async () => snapshots.read(),
    key: () => mongo.keys(randomBytes(32), true),
    deployment: () => mongo.deploymentKeys(),
    standing: () => mongo.standing(),
    lease: async () => {
      const { close } = mongo.lease('writer', 1_000)
      await eventually(() => reads.length > 0, 'the lease to be read')
      await close()
    },
  }
  for (const [name, read] of Object.entries(all)) {
    reads.length = 0
    await read().catch(() => undefined)
    t.ok(reads.length > 0, `${name} reads`)
    for (const { maxTimeMS, ...command } of reads)
      t.ok(
        Object.values(patience).includes(Number(maxTimeMS) as 1500),
        `${name}: ${Object.keys(command)[0]}, ${maxTimeMS}`,
      )
  }
})

await t.test('on a virtual clock no time limit is sent to MongoDB', async (t) => {
  const { url, reads } = await listening(t)
  const mongo = await openMongo(url, 'test', { clock: virtualClock(), onError: () => undefined })
  t.teardown(mongo.close)
  await mongo.views.get(view, 'a')
  t.ok(reads.length > 0)
  for (const { maxTimeMS } of reads) t.equal(maxTimeMS, undefined)
})
