import { randomBytes } from 'node:crypto'
import { type BulkWriteResult, type Document, MongoBulkWriteError, MongoClient, MongoServerError } from 'mongodb'
import t, { type Test } from 'tap'
import { isDuplicate, mongoCalls } from '../../../src/adapters/mongodb/calls.ts'
import { mongoKeys } from '../../../src/adapters/mongodb/keys.ts'
import { rowWriter, type StoredRow } from '../../../src/adapters/mongodb/rows.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { Refusal } from '../../../src/base/errors.ts'
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

await t.test('an error counts as duplicates only without any other error, whatever the driver reports', (t) => {
  const bulk = (codes: readonly number[] | number, concern?: number) => {
    const writeErrors = typeof codes === 'number' ? { index: 0, code: codes } : failed(codes)
    const found = concern === undefined ? undefined : { code: concern, errmsg: 'concern' }
    const result = { getWriteConcernError: () => found } as unknown as BulkWriteResult
    const error = { message: 'bulk', code: DUPLICATE, writeErrors } as unknown as MongoServerError
    return new MongoBulkWriteError(error, result)
  }
  for (const [error, expected] of [
    [bulk([DUPLICATE]), true],
    [bulk(DUPLICATE), true],
    [bulk([DUPLICATE, DUPLICATE]), true],
    [bulk([]), false],
    [bulk(121), false],
    [bulk([DUPLICATE, 121]), false],
    [bulk([DUPLICATE], 64), false],
    [bulk([DUPLICATE, DUPLICATE], 91), false],
    [bulk([], 100), false],
    [new MongoServerError({ message: 'one', code: DUPLICATE }), true],
    [new MongoServerError({ message: 'one', code: 121 }), false],
    [Object.assign(new Error('not of the server'), { code: DUPLICATE }), false],
  ] as const)
    t.equal(isDuplicate(error), expected, JSON.stringify(error))
  t.end()
})

/** Key store on a scripted server, and the commands with which it destroys keys. */
const keyWorld = async (t: Test, reply: (command: Document) => Document) => {
  const sent: string[] = []
  const address = await scriptedMongo(t, (command) => {
    const { findAndModify, query, update, updates, deletes } = command
    if (findAndModify) return { ok: 1, value: { ...query, ...update.$setOnInsert } }
    if (command['find']) return { ok: 1, cursor: { id: 0n, ns: 'test.subjects', firstBatch: [] } }
    if (!updates && !deletes) return undefined
    const [{ multi, limit, q }] = updates ?? deletes
    sent.push(`${Object.keys(command)[0]} ${multi || limit === 0 ? q._id.$in.length : updates.length}`)
    return deletes ? { ok: 1, n: 0 } : reply(command)
  })
  const connection = await MongoClient.connect(address, { useBigInt64: true })
  t.teardown(() => connection.close())
  const keys = await mongoKeys(connection.db('test'), mongoCalls(systemClock), systemClock, randomBytes(32))
  return { keys, sent }
}

await t.test('keys are destroyed fifty at a time; only those whose destruction is confirmed count', async (t) => {
  const subjects = Array.from({ length: 120 }, (_, n) => `token-${n}`)
  const done = ({ updates }: Document): Document => ({ ok: 1, n: updates.length, nModified: updates.length })
  const whole = await keyWorld(t, done)
  await whole.keys.destroy(...subjects, 'token-0')
  t.strictSame(whole.sent, ['update 50', 'delete 50', 'update 50', 'delete 50', 'update 20', 'delete 20'])
  t.equal(await whole.keys.find('token-119'), 'erased')

  const raced = (matched: number) =>
    keyWorld(t, ({ updates }) =>
      updates[0].multi ? { ok: 1, n: matched, nModified: 1 } : { ok: 1, n: 1, writeErrors: failed([DUPLICATE]) },
    )
  const won = await raced(3)
  await won.keys.destroy('a', 'b', 'c')
  t.strictSame(won.sent, ['update 3', 'update 3', 'delete 3'], 'documents of another instance are changed too')
  const lost = await raced(2)
  await t.rejects(lost.keys.destroy('a', 'b', 'c'), new Refusal('backend_unavailable'))
  t.equal(await lost.keys.find('a'), undefined, 'nothing counts as erased')

  for (const codes of [
    [DUPLICATE, 91],
    [undefined, 14031],
  ]) {
    const partly = await keyWorld(t, () => ({ ok: 1, n: 1, writeErrors: failed(codes) }))
    await t.rejects(partly.keys.destroy('a', 'b', 'c'), new Refusal('backend_unavailable'))
    t.strictSame(partly.sent, ['update 3'], 'keys that were put aside stay until all have a tombstone')
    t.equal(await partly.keys.find('b'), undefined)
  }
})
