import { randomUUID } from 'node:crypto'
import { type Collection, MongoBulkWriteError, MongoClient } from 'mongodb'
import t from 'tap'
import { mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { indexMaker } from '../../../src/adapters/mongodb/indexes.ts'
import { mongoRecords } from '../../../src/adapters/mongodb/records.ts'
import { rowWriter, type StoredRow } from '../../../src/adapters/mongodb/rows.ts'
import type { Row } from '../../../src/projections/views.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownMongo } from '../servers.ts'

const { server, skip } = await ownMongo(t)
const calls = mongoCalls(virtualClock())
const row = (n: number, revision: number): Row => ({
  key: `k${n}`,
  revision: BigInt(revision),
  position: 1n,
  changes: 1n,
  doc: { at: revision },
})
const rows = (revisionOf: (n: number) => number) => Array.from({ length: 30 }, (_, n) => row(n, revisionOf(n)))

const collectionOf = async () => {
  const client = await MongoClient.connect(server?.url ?? '', { useBigInt64: true })
  t.teardown(() => client.close())
  return client.db(`rollcall_test_${randomUUID().replaceAll('-', '')}`)
}

await t.test(
  'a bulk write replaces only older rows, also if it contains new, equal and later ones',
  { skip },
  async (t) => {
    const to = (await collectionOf()).collection<StoredRow>('rows')
    const writer = rowWriter(calls, 8)
    const expected = new Map<string, bigint>()
    for (const [n, revisionOf] of [() => 5, (n: number) => n % 10, () => 5, (n: number) => 12 - n].entries()) {
      const written = rows(revisionOf).slice(0, 10 * (n + 1))
      await writer.put(to, written)
      for (const { key, revision } of written) {
        const there = expected.get(key)
        if (there === undefined || revision > there) expected.set(key, revision)
      }
      const stored = await to.find().toArray()
      t.same(new Map(stored.map(({ _id, revision }) => [_id, revision])), expected)
    }
  },
)

await t.test('all duplicates in a bulk write together cost one more command', async (t) => {
  const commands: string[] = []
  const fake = {
    bulkWrite: async (operations: readonly { replaceOne: { upsert: boolean } }[]) => {
      commands.push(`${operations.length} ${operations[0]!.replaceOne.upsert}`)
      if (commands.length > 1) return {}
      const [writeErrors, result] = [
        [3, 7].map((index) => ({ index, code: 11000 })),
        { matchedCount: 8, upsertedCount: 20, getWriteConcernError: () => undefined },
      ]
      const error = new MongoBulkWriteError(
        { message: 'duplicate', code: 11000, writeErrors: writeErrors as never },
        result as never,
      )
      throw error
    },
  } as unknown as Collection<StoredRow>
  await rowWriter(calls, 1000).put(
    fake,
    rows(() => 1),
  )
  t.same(commands, ['30 true', '2 false'])
})

await t.test('expired records are deleted one minute after a write', { skip }, async (t) => {
  const db = await collectionOf()
  const errors: unknown[] = []
  const clock = virtualClock()
  const onError = (error: unknown) => errors.push(error)
  const calls = mongoCalls(clock)
  const records = mongoRecords(db, calls, clock, indexMaker(db, calls, clock, onError), onError)
  const now = clock.now().getTime()
  for (let n = 0; n < 5; n++) await records.swapRecord('answers', `${n}`, 0, { n }, now + (n === 0 ? 60_001 : 1))
  const left = () => db.collection('records').countDocuments()
  await clock.advance(59_999)
  t.same(clock.waiting(), [1])
  t.equal(await left(), 5)
  await clock.advance(1)
  await eventually(async () => (await left()) === 1, 'the records past their time to be removed')
  t.same(await records.record('answers', '0'), { revision: 1, value: { n: 0 } })
  await clock.advance(1)
  t.equal(await records.record('answers', '0'), undefined)
  await eventually(() => clock.waiting().length === 0, 'the last answer: without another write nothing more is due')
  t.same(errors, [])
})
