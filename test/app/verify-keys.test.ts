import { cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openKeyFile } from '../../src/adapters/embedded/files/secret-file.ts'
import { openEmbedded } from '../../src/adapters/embedded/open.ts'
import { deleteFlagOffline } from '../../src/app/offline/offline.ts'
import { start } from '../../src/app/start.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { collect } from '../contracts/log.ts'

const TOKEN = 'the-bootstrap-token-of-the-tests'
type Options = Parameters<typeof start>[1]

/** Data directory of a stopped service, and functions to start another on it. */
const ran = async (t: Test) => {
  const directory = join(await newDirectory(t), 'data')
  const log = `${directory}.log`
  const flags = {
    'server.host': '127.0.0.1',
    'server.http_port': '0',
    'storage.type': 'embedded',
    'storage.data_dir': directory,
    'log.file': log,
    'authentication.methods.token.bootstrap.token': TOKEN,
  }
  const { config } = loadConfig({ env: {}, flags })
  const open = (options: Options = {}) => start(config, options)
  const asks = async (url: string) =>
    (await fetch(`${url}/auth/v1/tokens`, { headers: { authorization: `Bearer ${TOKEN}` } })).status
  const first = await open()
  t.equal(await asks(first.url), 200)
  await first.close()
  /** Data files, without locks and auxiliary files of SQLite. */
  const files = async () =>
    (await readdir(directory)).filter((name) => !/^lock|-(wal|shm|journal)$/.test(name)).toSorted()
  const path = (name: string) => join(directory, name)
  const logged = async () =>
    (await readFile(log, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
  return { directory, config, open, asks, files, path, logged }
}
type Line = Readonly<Record<string, unknown>> & { readonly level: string; readonly msg: string }

const refused = async (t: Test, service: Awaited<ReturnType<typeof ran>>, ...says: readonly RegExp[]) => {
  const before = await service.files()
  for (const work of [
    service.open,
    () => deleteFlagOffline(service.config, { namespace: 'default', key: 'f' }, () => {}),
  ]) {
    const error = await work().then(
      async (running) => (await running?.close(), undefined),
      (error: Error & { kind?: string }) => error,
    )
    t.equal(error?.kind, 'check')
    for (const words of [
      /The keys do not match this event log/,
      /from the backup/,
      /--accept-lost-keys REASON/,
      ...says,
    ])
      t.match(error?.message, words)
    t.same(await service.files(), before, 'no file was made')
  }
  const errors = (await service.logged()).filter(({ level }) => level === 'ERROR')
  t.equal(errors.length, 1, 'one line tells the operator')
  t.match(errors[0]?.msg, says[0]!)
}

void t.test('a data directory without its key file is refused, and no key file is created', async (t) => {
  const service = await ran(t)
  await rm(service.path('keys'))
  await refused(t, service, /data\/keys is missing/)
})

void t.test('a data directory without encryption keys of people is refused, and none are created', async (t) => {
  const service = await ran(t)
  await rm(service.path('subjects.sqlite'))
  await refused(t, service, /subjects\.sqlite is missing/)
  await writeFile(service.path('subjects.sqlite'), '')
  await rm(`${service.directory}.log`)
  await refused(t, service, /subjects\.sqlite is missing or empty/)
})

void t.test('a data directory without any keys is refused, and none are created', async (t) => {
  const service = await ran(t)
  await rm(service.path('keys'))
  await rm(service.path('subjects.sqlite'))
  await refused(t, service, /data\/keys is missing; .*subjects\.sqlite is missing/)
})

void t.test('consistent keys of a different event log are refused by their id', async (t) => {
  const [service, other] = [await ran(t), await ran(t)]
  const { pepper } = await openKeyFile(service.path('keys'))
  for (const name of ['keys', 'subjects.sqlite']) await cp(other.path(name), service.path(name))
  await refused(t, service, new RegExp(`the tokens of this log have the id ${pepper.kid}`))
})

void t.test('a key file that cannot decrypt the keys of people is refused', async (t) => {
  const service = await ran(t)
  const text = await readFile(service.path('keys'), 'utf8')
  const { kek } = JSON.parse(text) as { kek: string }
  await writeFile(service.path('keys'), text.replace(kek, Buffer.alloc(32).toString('base64url')))
  await refused(t, service, /keys cannot decrypt .*subjects\.sqlite/)
})

void t.test('the service starts when the keys are restored, and logs the key id', async (t) => {
  const service = await ran(t)
  await rename(service.path('keys'), `${service.directory}.keys`)
  await t.rejects(service.open())
  await rename(`${service.directory}.keys`, service.path('keys'))
  const running = await service.open()
  t.equal(await service.asks(running.url), 200)
  await running.close()
  const { pepper } = await openKeyFile(service.path('keys'))
  const told = (await service.logged()).filter(({ msg }) => msg === 'the encryption keys belong to this event log')
  t.same(
    told.map(({ level, kid }) => [level, kid]),
    [
      ['INFO', pepper.kid],
      ['INFO', pepper.kid],
    ],
  )
})

void t.test('the service starts with new keys once an operator accepts the loss of the old ones', async (t) => {
  const service = await ran(t)
  await rm(service.path('keys'))
  const lost = await service.open({ acceptLostKeys: 'the disk of the keys burned' })
  t.equal(await service.asks(lost.url), 401)
  await lost.close()
  const { pepper, kek } = await openKeyFile(service.path('keys'))
  const store = await openEmbedded(service.directory, { clock: systemClock, kek, onError: () => {} })
  const [event, ...more] = await collect(store.log.read('keys-main'))
  t.equal(more.length, 0)
  t.match(event, { type: 'LostKeysAccepted' })
  t.same(JSON.parse(event!.data), { kid: pepper.kid, tokens: true, subjects: true })
  t.match(JSON.parse(event!.meta), {
    actor: { kind: 'operator', user: userInfo().username, host: hostname() },
    reason: 'the disk of the keys burned',
    command: 'AcceptLostKeys',
  })
  await store.close()
  await (await service.open()).close()
  t.ok((await service.logged()).some(({ level, msg }) => level === 'WARN' && msg.startsWith('lost keys were accepted')))
  await rm(service.path('keys'))
  await t.rejects(service.open(), /The keys do not match/, 'another loss is another question')
})

void t.test('after an accepted loss, erasures remain and keys that cannot be decrypted are set aside', async (t) => {
  const service = await ran(t)
  const before = await openEmbedded(service.directory, {
    clock: systemClock,
    kek: (await openKeyFile(service.path('keys'))).kek,
    onError: () => {},
  })
  await before.keys.make('ann')
  await before.keys.make('bob')
  await before.keys.destroy('bob')
  await before.close()
  await rm(service.path('keys'))
  await (await service.open({ acceptLostKeys: 'gone' })).close()
  const after = await openEmbedded(service.directory, {
    clock: systemClock,
    kek: (await openKeyFile(service.path('keys'))).kek,
    onError: () => {},
  })
  t.same([await after.keys.find('ann'), await after.keys.find('bob')], [undefined, 'erased'])
  await after.close()
})

void t.test('the option --accept-lost-keys does nothing if no key is lost', async (t) => {
  const service = await ran(t)
  const running = await service.open({ acceptLostKeys: 'just in case' })
  t.equal(await service.asks(running.url), 200)
  await running.close()
  t.ok((await service.logged()).some(({ level, msg }) => level === 'WARN' && /has no effect/.test(msg)))
  const { kek } = await openKeyFile(service.path('keys'))
  const store = await openEmbedded(service.directory, { clock: systemClock, kek, onError: () => {} })
  t.same(await collect(store.log.read('keys-main')), [])
  await store.close()
})
