import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { BSON, MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import type { LedgerCheckpoint, LedgerConsistency, LedgerStatus } from '../../src/contract/history/ledger.ts'
import { readNdjson } from '../../src/verifier/export/ndjson.ts'
import type { Hash } from '../../src/verifier/hashes.ts'
import { hashOfBase64 } from '../../src/verifier/hashes.ts'
import { parseVkey } from '../../src/verifier/note/vkey.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { verifyProof } from '../../src/verifier/proof/proof-text.ts'
import { verifyConsistency } from '../../src/verifier/proof/proofs.ts'
import { compactRange } from '../../src/verifier/tree.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { onServers, withoutServers } from '../cluster/own.ts'
import { startStack } from '../cluster/stack.ts'
import type { Recorded } from '../stand-ins/eventstoredb/law.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'

/** Stores that the last version without a ledger wrote (test/frozen/README.md). */
const FROZEN = resolve(import.meta.dirname, '../../../test/frozen')
const LEDGER = '/audit/v1/ledger'
const FILES = ['events.sqlite', 'views.sqlite', 'subjects.sqlite'] as const

type Tokens = { readonly live: string; readonly ended: string }

/** Expects the tokens and the flag of the frozen store. */
const honours = async (t: Test, { request }: Started, { live, ended }: Tokens) => {
  const self = async (token: string) =>
    (await request('GET', '/auth/v1/self', undefined, { authorization: `Bearer ${token}` })).status
  t.strictSame([await self(live), await self(ended)], [200, 401], 'the tokens')
  const entity = { flagKey: 'checkout', entityId: 'e' }
  t.match((await request('POST', '/evaluate/v1/boolean', entity)).json, { enabled: true }, 'the flag')
}

/** Seals, and expects a checkpoint whose tree has each event of the log from the first one on. Returns it. */
const sealed = async (t: Test, { request }: Started) => {
  const status = async () => (await request<LedgerStatus>('GET', LEDGER)).json
  await eventually(async () => (await status()).state === 'ok', 'the tree')
  const checkpoint = (await request<LedgerCheckpoint>('POST', `${LEDGER}/checkpoint`, {})).json
  const range = compactRange()
  const all = await request('GET', `/audit/v1/events?format=ndjson&beforeIndex=${checkpoint.size}`)
  for (const line of readNdjson(Buffer.from(all.text)).lines) range.append(line!.leaf)
  t.equal(base64Of(range.root()), checkpoint.root)
  const first = (await request<{ events: readonly { position: string }[] }>('GET', '/audit/v1/events?limit=1')).json
  const proof = await request('GET', `${LEDGER}/proof/${first.events[0]!.position}`)
  const keys = (await status()).keys.map(({ vkey }) => parseVkey(vkey)!)
  t.match(verifyProof(proof.text, keys), { index: 0 }, 'the first event is proven')
  return checkpoint
}

const insistOnExtension = async (t: Test, { request }: Started, from: LedgerCheckpoint, to: LedgerCheckpoint) => {
  const path = `${LEDGER}/consistency?from=${from.size}&to=${to.size}`
  const { json } = await request<LedgerConsistency>('GET', path)
  const tree = ({ size, root }: LedgerCheckpoint) => ({ size, root: hashOfBase64(root)! })
  t.ok(verifyConsistency(tree(from), tree(to), json.hashes.map(hashOfBase64) as Hash[]), 'the checkpoint is extended')
}

/** Tables, indexes, triggers and version of a database, and its events. */
const contentOf = async (file: string) => {
  const database = await openDatabase(file, 'read')
  try {
    const schema = database.prepare('select type, name, tbl_name, sql from sqlite_schema order by name').all()
    const isLog = file.endsWith('events.sqlite')
    const events = isLog ? database.prepare('select * from events order by position').all() : []
    return { schema, events, version: database.prepare('pragma user_version').get() }
  } finally {
    database.close()
  }
}

/** An event as the earlier version appends it after a return. */
const APPENDED = `
insert into events
select (select max(position) from events) + 1, stream || 'ping', revision, '00000000-0000-4000-8000-000000000001',
  type, (select max(time) from events), replace(data, 'shop', 'shopping'), meta
from events where stream = 'namespace-shop'`

await t.test(
  'a log of the version before the ledger is sealed from its first event, and goes back',
  { skip: onServers },
  async (t) => {
    const directory = await newDirectory(t)
    const data = join(directory, 'data')
    const frozen = (name: string) => readFile(join(FROZEN, 'embedded', name))
    await mkdir(data, { mode: 0o700 })
    for (const name of FILES) await writeFile(join(data, name), gunzipSync(await frozen(`${name}.gz`)), { mode: 0o600 })
    await writeFile(join(data, 'keys'), await frozen('keys'), { mode: 0o600 })
    const tokens = JSON.parse(String(await frozen('tokens.json'))) as Tokens
    const contents = () => Promise.all(FILES.map((name) => contentOf(join(data, name))))
    const [events, views, subjects] = await contents()
    const insistOnReturn = async () => {
      const [now, nowViews, nowSubjects] = await contents()
      t.strictSame(now!.schema, events!.schema, 'no new table, index or trigger in events.sqlite')
      t.strictSame(now!.events.slice(0, events!.events.length), events!.events, 'each record is the same')
      t.strictSame(nowSubjects!.schema, subjects!.schema)
      const isOfCheckpoints = (row: unknown) => (row as { tbl_name: string }).tbl_name === 'views'
      t.strictSame(nowViews!.schema.filter(isOfCheckpoints), views!.schema.filter(isOfCheckpoints))
      t.strictSame(
        [now, nowViews, nowSubjects].map((one) => one!.version),
        [events, views, subjects].map((one) => one!.version),
      )
    }

    const service = await startService(t, {}, { directory })
    await honours(t, service, tokens)
    const first = await sealed(t, service)
    t.ok(first.size > events!.events.length)
    await service.reopen(async () => {
      await insistOnReturn()
      const database = await openDatabase(join(data, 'events.sqlite'), 'durable')
      database.exec(APPENDED)
      database.close()
    })
    await honours(t, service, tokens)
    t.equal((await service.request('GET', '/api/v1/namespaces/shopping')).status, 200)
    await insistOnExtension(t, service, first, await sealed(t, service))
    await service.close()
    await insistOnReturn()
  },
)

type Line = {
  readonly tokens?: Tokens
  readonly deployment?: object
  readonly subjects?: object
  readonly record?: Readonly<Record<string, string | number>>
}

const recorded = ({ data, metadata, revision, position, created, ...texts }: NonNullable<Line['record']>) =>
  ({
    ...texts,
    data: Buffer.from(String(data)),
    metadata: Buffer.from(String(metadata)),
    revision: BigInt(revision!),
    position: BigInt(position!),
    created: BigInt(created!),
  }) as unknown as Recorded

await t.test(
  'servers of the version before the ledger are sealed next to an instance that does not seal',
  { skip: withoutServers },
  async (t) => {
    const { stack, skip } = await startStack(t, {
      needs: { eventstore: 'starts on the records of an earlier version' },
    })
    if (!stack) return void t.pass(t.name, { skip })
    const text = await readFile(join(FROZEN, 'servers.ndjson'), 'utf8')
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    const of = <K extends keyof Line>(kind: K) => lines.flatMap((line) => (line[kind] ? [line[kind]] : []))
    const records = of('record').map(recorded)
    await stack.eventstore.restore(records)
    const mongo = await MongoClient.connect(stack.settings['mongodb.url']!)
    t.teardown(() => mongo.close())
    const db = mongo.db(stack.settings['mongodb.database'])
    const documents = {
      deployment: of('deployment').map((one) => BSON.EJSON.deserialize(one)),
      subjects: of('subjects').map((one) => BSON.EJSON.deserialize(one)),
    }
    for (const [name, all] of Object.entries(documents)) await db.collection(name).insertMany(all)

    const key = join(await newDirectory(t), 'signing-key.pem')
    const sealing = await startService(t, { ...stack.settings, 'history.ledger.key_file': key })
    await honours(t, sealing, of('tokens')[0]!)
    const first = await sealed(t, sealing)
    const other = await startService(t, stack.settings)
    await honours(t, other, of('tokens')[0]!)
    await other.request('POST', '/api/v1/namespaces', { key: 'shopping', name: 'Shopping' })
    // The other instance has no key: it refuses while an event of a job has no checkpoint yet.
    const second = await eventually(async () => {
      const checkpoint = await sealed(t, sealing)
      const served = await fetch(`${other.url}${LEDGER}/checkpoint`, {
        method: 'POST',
        headers: { authorization: `Bearer ${other.token}` },
      })
      return served.ok && ((await served.json()) as LedgerCheckpoint).text === checkpoint.text && checkpoint
    }, 'the checkpoint from an instance that does not seal')
    t.ok(second.size > first.size)
    await insistOnExtension(t, other, first, second)
    t.strictSame(stack.eventstore.copy().slice(0, records.length), records, 'each record is the same')
    for (const [name, all] of Object.entries(documents))
      for (const one of all) t.strictSame(await db.collection(name).findOne({ _id: one['_id'] }), one, name)
  },
)
