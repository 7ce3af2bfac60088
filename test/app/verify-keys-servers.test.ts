import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Binary, MongoClient } from 'mongodb'
import t, { type Test } from 'tap'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { start } from '../../src/app/start.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { ownMongo, ownRedis, STAND_IN_BULK } from '../adapters/servers.ts'
import { collect } from '../contracts/log.ts'
import { isForNow, ownFaults } from '../late-servers.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { eventually } from '../wait.ts'

const TOKEN = 'the-bootstrap-token-of-the-tests'
const [mongo, redis] = [await ownMongo(t), await ownRedis(t)]
const skip = mongo.skip || redis.skip

type Options = Parameters<typeof start>[1]
type Document = { readonly _id: string }
let stacks = 0

/** Deployment on its own servers after one run; `file`: its keys are in a key file. */
const ran = async (t: Test, file = false) => {
  const directory = await newDirectory(t)
  const events = await startEventStore()
  t.teardown(() => events.kill())
  const client = await new MongoClient(mongo.server!.url).connect()
  t.teardown(() => client.close())
  const number = stacks++
  const database = client.db(`k${number}`)
  const log = join(directory, 'log')
  const keyFile = join(directory, 'keys')
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.type': 'cluster',
    'eventstore.url': events.url,
    'mongodb.url': mongo.server!.url,
    'mongodb.database': `k${number}`,
    'mongodb.bulk_size': String(STAND_IN_BULK),
    'redis.url': `${redis.server!.url}/${number}`,
    'log.file': log,
    'authentication.methods.token.bootstrap.token': TOKEN,
    ...(file && { 'keys.file': keyFile }),
  }
  const open = (options: Options = {}, more: Readonly<Record<string, string>> = {}) =>
    start(loadConfig({ env: {}, flags: { ...flags, ...more } }).config, options)
  /** Returns the status of a request once the servers answer in time. */
  const asks = async (url: string) => {
    const { status } = await eventually(async () => {
      const answer = await fetch(`${url}/auth/v1/tokens`, { headers: { authorization: `Bearer ${TOKEN}` } })
      const given = { status: answer.status, text: await answer.text() }
      return !isForNow('GET', given) && given
    }, 'an answer of servers that are in time')
    return status
  }
  const first = await open()
  t.equal(await asks(first.url), 200)
  await first.close()
  const all = (name: string) => database.collection<Document>(name).find().toArray()
  /** Subjects with a key or a tombstone, except the one for anonymous clients of today. */
  const subjects = async () =>
    (await all('subjects'))
      .map(({ _id }) => _id)
      .filter((id) => !id.startsWith('network-'))
      .toSorted()
  const made = async () => [await all('deployment'), await all('subjects'), (await readdir(directory)).toSorted()]
  const logged = () => readFile(log, 'utf8')
  const told = async () => {
    const store = await openEventStore(events.url, { clock: systemClock, categories: ['keys'], onError: () => {} })
    try {
      return (await collect(store.readAll(0n))).map(({ type, data }) => [type, JSON.parse(data) as object])
    } finally {
      await store.close()
    }
  }
  return { open, asks, database, made, logged, told, keyFile, all, subjects }
}

/** Expects a start to be refused with one line and no new files. */
const refused = async (
  t: Test,
  { open, made, logged }: Awaited<ReturnType<typeof ran>>,
  ...says: readonly RegExp[]
) => {
  const before = await made()
  const error = await open().then(
    async (running) => (await running.close(), undefined),
    (error: Error & { kind?: string }) => error,
  )
  t.equal(error?.kind, 'check')
  for (const words of [/The keys do not match this event log/, /from the backup/, ...says])
    t.match(error?.message, words)
  t.same(await made(), before, 'nothing was made')
  t.equal(ownFaults(await logged()).length, 1, 'one line tells the operator')
}

void t.test("an emptied MongoDB is refused; with the operator's consent new keys are created", { skip }, async (t) => {
  const service = await ran(t)
  await service.database.dropDatabase()
  await refused(t, service, /"deployment" of the MongoDB database "k\d+" is missing/, /"subjects" .* is missing/)
  t.same(await service.all('deployment'), [])
  const running = await service.open({ acceptLostKeys: 'MongoDB had no backup' })
  t.equal(await service.asks(running.url), 401)
  await running.close()
  const event = (await service.told()).find(([type]) => type === 'LostKeysAccepted')
  t.match(event, ['LostKeysAccepted', { tokens: true, subjects: true, kid: /^[0-9a-f]{8}$/ }])
  await (await service.open()).close()
  const lines = (await service.logged()).trim().split('\n')
  const told = lines.filter((line) => line.includes('"the encryption keys belong to this event log"'))
  t.match(JSON.parse(told.at(-1)!), { kid: (event![1] as { kid: string }).kid })
})

void t.test('a deployment without encryption keys is refused', { skip }, async (t) => {
  const service = await ran(t)
  await service.database.collection('subjects').deleteMany({})
  await refused(t, service, /"subjects" .* is missing or empty/)
})

void t.test('keys in MongoDB that belong to a different event log are refused', { skip }, async (t) => {
  const [service, other] = [await ran(t), await ran(t)]
  for (const name of ['deployment', 'subjects']) {
    await service.database.collection(name).deleteMany({})
    await service.database.collection<Document>(name).insertMany(await other.all(name))
  }
  await refused(t, service, /the tokens of this log have the id [0-9a-f]{8}/)
})

void t.test('a missing key file is refused and not created', { skip }, async (t) => {
  const service = await ran(t, true)
  await rm(service.keyFile)
  await refused(t, service, /keys is missing/)
  const ann = { _id: 'ann', key: Buffer.alloc(60) }
  await service.database.collection<Document>('subjects').insertOne(ann)
  await service.database.collection<Document>('subjects').insertOne({ _id: 'bob' })
  const running = await service.open({ acceptLostKeys: 'the Secret was deleted' })
  t.equal(await service.asks(running.url), 401)
  await running.close()
  t.same(await service.subjects(), ['bob', 'key-encryption key'])
  t.same((await service.all('lost_subjects')).map(({ _id }) => _id).toSorted(), ['ann', 'key-encryption key'])
  await (await service.open()).close()
})

void t.test(
  'the key file of a different event log is refused, the one of the deployment is accepted',
  { skip },
  async (t) => {
    const service = await ran(t, true)
    const right = await readFile(service.keyFile, 'utf8')
    const kid = Object.keys((JSON.parse(right) as { pepper: object }).pepper)[0]!
    await writeFile(service.keyFile, right.replace(kid, 'cafe0001'))
    await refused(t, service, new RegExp(`has the id cafe0001, but the tokens of this log have the id ${kid}`))
    await writeFile(service.keyFile, right)
    await (await service.open()).close()
  },
)

void t.test('encryption keys can move from MongoDB to a key file', { skip }, async (t) => {
  const service = await ran(t)
  const more = { 'keys.file': service.keyFile }
  const before = await service.made()
  await t.rejects(service.open({}, more), {
    kind: 'check',
    message: /keeps its keys in MongoDB.\nRemove keys\.file from/,
  })
  t.same(await service.made(), before)
  const [stored] = await service.all('deployment').then((all) => all.filter(({ _id }) => _id === 'keys'))
  const { kid, pepper, kek } = stored as unknown as { kid: string; pepper: Binary; kek: Binary }
  const text = ({ buffer }: Binary) => Buffer.from(buffer).toString('base64url')
  const file = JSON.stringify({ pepper: { [kid]: text(pepper) }, kek: text(kek) })
  await writeFile(service.keyFile, file, { mode: 0o600 })
  const running = await service.open({}, more)
  t.equal(await service.asks(running.url), 200)
  await running.close()
  const unset = { kid: '', pepper: '', kek: '' } as const
  await service.database.collection<Document>('deployment').updateOne({ _id: 'keys' }, { $unset: unset })
  const again = await service.open({}, more)
  t.equal(await service.asks(again.url), 200)
  await again.close()
})
