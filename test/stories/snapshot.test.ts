import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Binary, MongoClient } from 'mongodb'
import t from 'tap'
import { clusterOf, onCluster, withoutServers } from '../cluster/own.ts'
import { type Started, startService } from '../start.ts'

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }
const flags = '/api/v1/namespaces/default/flags'

const issue = async (service: Started) => {
  const { json } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'a token' })
  return { id: json.authentication.id, bearer: { authorization: `Bearer ${json.clientToken}` } }
}
const self = async (service: Started, bearer: { readonly authorization: string }) =>
  (await service.request('GET', '/auth/v1/self', undefined, bearer)).status
const evaluated = async (service: Started) =>
  (await service.request('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' })).json['enabled']

/** Changes one byte of the snapshot in either store. */
const damage = async ({ directory }: Started) => {
  if (!onCluster) {
    const path = join(directory, 'data', 'memory.snapshot')
    const bytes = await readFile(path)
    bytes[bytes.length >> 1]! ^= 1
    return writeFile(path, bytes)
  }
  const { 'mongodb.url': url, 'mongodb.database': name } = await clusterOf(directory)
  const client = await MongoClient.connect(url!)
  const chunks = client.db(name).collection<{ readonly data: Binary }>('snapshots')
  const chunk = await chunks.findOne({ data: { $exists: true } })
  const bytes = Buffer.from(chunk!.data.value())
  bytes[bytes.length >> 1]! ^= 1
  await chunks.updateOne({ _id: chunk!._id }, { $set: { data: new Binary(bytes) } })
  return client.close()
}

await t.test('a restart loads the memory snapshot and applies the later events', async (t) => {
  const service = await startService(t, { 'log.level': 'info' })
  const [valid, revoked] = [await issue(service), await issue(service)]
  t.equal((await service.request('POST', flags, { key: 'f', name: 'F', enabled: true })).status, 200)
  t.equal((await service.request('DELETE', `/auth/v1/tokens/${revoked.id}`)).status, 200)
  await service.reopen()
  t.match(await service.logged(), /the start restored the memory from its snapshot/)
  t.same([await self(service, valid.bearer), await self(service, revoked.bearer)], [200, 401])
  t.equal((await service.request('GET', `${flags}/f`)).status, 200)

  const { directory } = service
  const before = (await service.logged()).length
  await service.close()
  await damage(service)
  const again = await startService(t, { 'log.level': 'info' }, { directory })
  t.match(
    (await again.logged()).slice(before),
    /"level":"WARN".*the snapshot is damaged.*the snapshot of the memory cannot be used/,
  )
  t.same([await self(again, valid.bearer), await self(again, revoked.bearer)], [200, 401])
  t.equal((await again.request('GET', `${flags}/f`)).status, 200)
})

await t.test(
  'someone who can write to MongoDB cannot change the answers of a flag',
  { skip: withoutServers },
  async (t) => {
    const service = await startService(t)
    const made = { key: 'f', name: 'F', type: 'BOOLEAN_FLAG_TYPE', enabled: false }
    t.equal((await service.request('POST', flags, made)).status, 200)
    t.equal(await evaluated(service), false)
    const { 'mongodb.url': url, 'mongodb.database': name } = await clusterOf(service.directory)
    const client = await MongoClient.connect(url!)
    t.teardown(() => client.close())
    const database = client.db(name)
    for (const { name: collection } of await database.listCollections().toArray()) {
      if (!collection.startsWith('flags_')) continue
      const { matchedCount } = await database
        .collection<{ _id: string }>(collection)
        .updateOne({ _id: 'default+f' }, { $set: { 'doc.enabled': true } })
      t.equal(matchedCount, 1)
    }
    await service.reopen()
    t.equal(await evaluated(service), false, 'with the snapshot')
    await service.close()
    await damage(service)
    const again = await startService(t, {}, { directory: service.directory })
    t.equal(await evaluated(again), false, 'and without')
    t.match(await again.logged(), /the snapshot is damaged/)
  },
)

await t.test(
  'someone who can write to MongoDB can neither revive a revoked token nor forge one',
  { skip: withoutServers },
  async (t) => {
    const service = await startService(t)
    const [valid, revoked] = [await issue(service), await issue(service)]
    t.equal((await service.request('DELETE', `/auth/v1/tokens/${revoked.id}`)).status, 200)
    t.equal((await service.request('GET', '/auth/v1/tokens')).status, 200, 'its row is written when a list is whole')
    const { 'mongodb.url': url, 'mongodb.database': name } = await clusterOf(service.directory)
    const client = await MongoClient.connect(url!)
    t.teardown(() => client.close())
    const forged = randomUUID()
    let changed = 0
    for (const { name: collection } of await client.db(name).listCollections().toArray()) {
      if (!collection.startsWith('tokens_')) continue
      const rows = client.db(name).collection<{ _id: string; doc: Record<string, unknown> }>(collection)
      const { modifiedCount } = await rows.updateOne({ _id: revoked.id }, { $unset: { 'doc.deletedAt': '' } })
      changed += modifiedCount
      const row = await rows.findOne({ _id: valid.id })
      const { digest } = (await rows.findOne({ _id: revoked.id }))!.doc
      await rows.insertOne({ ...row!, _id: forged, doc: { ...row!.doc, id: forged, digest } })
    }
    t.equal(changed, 1)
    const judged = async (at: Started) => [await self(at, valid.bearer), await self(at, revoked.bearer)]
    t.same(await judged(service), [200, 401])
    await service.reopen()
    t.same(await judged(service), [200, 401], 'with the snapshot')
    await service.close()
    await damage(service)
    const again = await startService(t, {}, { directory: service.directory })
    t.equal(await self(again, valid.bearer), 200, 'and without, when rows are read again')
    // The forged row may be the one that memory finds by the digest. It has no stream, so it counts for nothing.
    const { status } = await fetch(`${again.url}/auth/v1/self`, { headers: revoked.bearer })
    t.equal(status, 401)
    const one = await again.request('GET', `/auth/v1/tokens/${revoked.id}`)
    t.equal(one.status, 404, 'a single record is read from the log')
  },
)
