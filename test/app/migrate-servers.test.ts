import { join } from 'node:path'
import t from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { openEventStore } from '../../src/adapters/eventstoredb/open.ts'
import { migrate } from '../../src/app/migrate/copy.ts'
import { systemClock } from '../../src/base/clock.ts'
import { catalog } from '../../src/events/catalog.ts'
import { sealer } from '../../src/events/personal.ts'
import { database } from '../adapters/mongodb/store.ts'
import { ownMongo } from '../adapters/servers.ts'
import { collect, happened } from '../contracts/log.ts'
import { startEventStore } from '../stand-ins/eventstoredb/server.ts'
import { startService } from '../start.ts'

const onError = (job: string, error: unknown) => t.fail(`${job} failed`, { error })
const options = { dryRun: false, progress: () => {}, signal: new AbortController().signal }
const { server: mongod, skip } = await ownMongo(t)

await t.test('the migration moves a service with its secrets to EventStoreDB and MongoDB', { skip }, async (t) => {
  const service = await startService(t)
  await service.request('POST', '/auth/v1/method/token', { name: 'ünï ☃ 😀' })
  const attachment = '{"big": 12345678901234567890, "a": 1.0, "a": 2}'
  await service.request('POST', '/api/v1/namespaces/default/flags', {
    key: 'f',
    name: 'F',
    type: 'VARIANT_FLAG_TYPE',
  })
  await service.request('POST', '/api/v1/namespaces/default/flags/f/variants', { key: 'v', attachment })
  await service.request('GET', '/auth/v1/tokens', undefined, { authorization: 'Bearer rct_no' })
  await service.close()

  const data = join(service.directory, 'data')
  const secrets = await openKeyFile(join(data, 'keys'))
  const store = await openEmbedded(data, { clock: systemClock, kek: secrets.kek, onError })
  const sealed = await sealer(store.keys).seal('person-ann', 'ann@example.com')
  await store.log.append(
    'login-x',
    [{ ...happened(1), type: 'LoginStarted', data: JSON.stringify({ profile: sealed }) }],
    'none',
  )
  await sealer(store.keys).seal('person-bob', 'bob@example.com')
  await store.log.append('login-y', [{ ...happened(2), data: '{"subject":"person-bob"}' }], 'none')
  await store.keys.destroy('person-bob')

  const esdb = await startEventStore()
  t.teardown(() => esdb.kill())
  const log = await openEventStore(esdb.url, { clock: systemClock, categories: Object.keys(catalog), onError })
  const mongo = await database(mongod!.url).open()
  const { pepper, kek } = await mongo.deploymentKeys(undefined, secrets)
  const keys = await mongo.keys(kek)
  const total = Number(await store.log.head())
  const moved = await migrate({ ...store, pepper: secrets.pepper }, { log, keys, pepper }, options)
  t.match(moved, { events: total, copied: total })
  const bare = (events: Awaited<ReturnType<typeof collect>>) => events.map(({ position: _position, ...event }) => event)
  t.strictSame(bare(await collect(log.readAll(0n))), bare(await collect(store.log.readAll(0n))))
  t.strictSame(await sealer(keys).open(sealed), { text: 'ann@example.com' })
  t.equal(await keys.find('person-bob'), 'erased')
  t.same(await migrate({ ...store, pepper: secrets.pepper }, { log, keys, pepper }, options), { ...moved, copied: 0 })
  await Promise.all([store.close(), log.close(), mongo.close()])
})
