import { type Document, MongoClient } from 'mongodb'
import t from 'tap'
import { mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { rowWriter, type StoredRow } from '../../../src/adapters/mongodb/rows.ts'
import { systemClock } from '../../../src/clock.ts'
import { Refusal } from '../../../src/errors.ts'
import type { Row } from '../../../src/projections/views.ts'
import { scriptedMongo } from '../../stand-ins/mongodb.ts'

const ROWS = 4
const DUPLICATE = 11000
/** Failed validation, a storage limit, a shutdown, no space, a lost election. */
const OTHERS = [121, 365, 91, 14031, 10107] as const

const rowAt = (n: number, revision: bigint): Row => ({
  key: `k${n}`,
  revision,
  position: 1n,
  changes: 1n,
  doc: { n },
})
const at = (revision: bigint, count = ROWS) => Array.from({ length: count }, (_, n) => rowAt(n, revision))

let script: (command: Document) => Document | undefined = () => undefined
const commands: string[] = []
const url = await scriptedMongo(t, (command) => {
  const [name] = Object.keys(command)
  const documents = (command['updates'] ?? command['documents']) as readonly Document[] | undefined
  if (documents) commands.push(`${name} ${documents.length}${documents[0]!['upsert'] ? ' upsert' : ''}`)
  return documents && script(command)
})
const client = await MongoClient.connect(url, { useBigInt64: true })
t.teardown(() => client.close())
const { put } = rowWriter(mongoCalls(systemClock), 1000)
const collection = client.db('test').collection<StoredRow>('rows')

const failed = (codes: readonly (number | undefined)[]) =>
  codes.flatMap((code, index) => (code === undefined ? [] : [{ index, code, errmsg: `code ${code}` }]))
/** Answers one command as scripted and accepts all later ones. */
const once = (reply: Document) => {
  commands.length = 0
  script = () => {
    script = ({ updates, documents }) => ({ ok: 1, n: (updates ?? documents).length })
    return { ok: 1, ...reply }
  }
}

for (const [what, revision] of [
  ['upserts', 1n],
  ['inserts', 0n],
] as const) {
  for (const code of OTHERS)
    for (const codes of [
      [DUPLICATE, code],
      [code, DUPLICATE],
      [DUPLICATE, undefined, undefined, code],
      [DUPLICATE, DUPLICATE, DUPLICATE, code],
    ])
      await t.test(
        `${what} that fail with ${codes.map((each) => each ?? 'nothing').join(', ')} are refused`,
        async (t) => {
          once({ n: 0, writeErrors: failed(codes) })
          await t.rejects(put(collection, at(revision)), new Refusal('backend_unavailable'))
          t.equal(commands.length, 1, 'nothing is taken as written that may not be')
        },
      )
  for (const code of [64, 91, 100, 11602])
    for (const codes of [[], [DUPLICATE], [DUPLICATE, DUPLICATE]])
      await t.test(`${what} with ${codes.length} duplicates and write concern error ${code} are refused`, async (t) => {
        once({
          n: ROWS - codes.length,
          ...(codes.length > 0 && { writeErrors: failed(codes) }),
          writeConcernError: { code, errmsg: `code ${code}` },
        })
        await t.rejects(put(collection, at(revision)), new Refusal('backend_unavailable'))
        t.equal(commands.length, 1)
      })
  await t.test(`${what} that fail as a whole with the code of duplicates are refused`, async (t) => {
    once({ ok: 0, code: DUPLICATE, errmsg: 'whole' })
    await t.rejects(put(collection, at(revision)), new Refusal('backend_unavailable'))
  })
}

await t.test('only writes that failed as duplicates are repeated, then without an insert', async (t) => {
  once({ n: 2, nModified: 2, writeErrors: failed([DUPLICATE, undefined, DUPLICATE]) })
  await put(collection, at(1n))
  t.strictSame(commands, ['update 4 upsert', 'update 2'])
  once({ n: 2, writeErrors: failed([undefined, DUPLICATE]) })
  await put(collection, at(0n))
  t.strictSame(commands, ['insert 4', 'update 4 upsert'])
})

await t.test('a single row that fails as a duplicate is written again; any other error is refused', async (t) => {
  for (const revision of [0n, 1n]) {
    once({ n: 0, writeErrors: failed([DUPLICATE]) })
    await put(collection, at(revision, 1))
    t.equal(commands.length, 2)
    t.notOk(commands[1]!.includes('upsert'))
    for (const reply of [
      { n: 1, writeConcernError: { code: 64, errmsg: 'late' } },
      { n: 0, writeErrors: failed([DUPLICATE]), writeConcernError: { code: 64, errmsg: 'late' } },
      { n: 0, writeErrors: failed([121]) },
    ]) {
      once(reply)
      await t.rejects(put(collection, at(revision, 1)), new Refusal('backend_unavailable'))
    }
  }
})
