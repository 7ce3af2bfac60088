import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openStores } from '../../src/app/stores/stores.ts'
import { systemClock } from '../../src/base/clock.ts'
import { loadConfig } from '../../src/config/load.ts'
import { collect } from '../contracts/log.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

await t.test('the command flag lists and shows flags, now and at a past moment', async (t) => {
  const service = await startService(t)
  const env = { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url }
  const root = '/api/v1/namespaces/default/flags'
  for (let n = 0; n < 30; n++) await service.request('POST', root, { key: `f${n}`, name: `Flag ${n}` })
  const { json } = await service.request<{ id: string }>('POST', `${root}/f0/variants`, { key: 'on' })
  const before = await service.request('PUT', `${root}/f0`, { name: 'First', defaultVariantId: json.id })
  await service.request('PUT', `${root}/f0`, { name: 'Second', enabled: true })
  const flag = (...args: readonly string[]) => rollcall(['flag', ...args], env)

  const first = await flag('list')
  t.match(
    first.out,
    /^KEY +TYPE +ENABLED +ANSWERS +VARIANTS +NAME +UPDATED\nf0 +VARIANT +true +On: no match, no variant for everybody +on +Second/,
  )
  t.match([first.out.split('\n').length, first.err], [27, '25 of 30 flags shown; use --all for the rest.\n'])
  t.equal((await flag('list', '--all', '-o', 'name')).out, Array.from({ length: 30 }, (_, n) => `f${n}\n`).join(''))
  t.equal((await flag('list', '-n', 'none', '-o', 'json', '--field', 'key')).out, '')

  t.equal((await flag('get', 'f0', '--field', 'name')).out, 'Second')
  const then = await flag('get', 'f0', '--at', `#${String(before.headers['event-position'])}`)
  t.match(then.out, /ENABLED +false\nANSWERS +Off: no match, default on for everybody\nVARIANTS +on\*\nNAME +First\n/)
  t.match(JSON.parse((await flag('get', 'f0', '-o', 'json')).out), { key: 'f0', variants: [{ key: 'on' }] })
  t.match(await flag('get', 'nothing'), { exit: 4, err: /flag "default\/nothing" not found/ })
  t.match(await flag('list', '-n', 'nope'), { exit: 4, out: '', err: /namespace "nope" not found/ })
  await service.request('POST', '/api/v1/namespaces', { key: 'later', name: 'Later' })
  t.match(await flag('list', '-n', 'later'), { exit: 0, out: /^KEY/ }, 'an empty one is there')
  t.equal((await flag('list', '-n', 'later', '--at', `#${String(before.headers['event-position'])}`)).exit, 4)
  const { json: narrow } = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', {
    name: 'reader',
    grants: [{ namespaceKey: '*', rights: ['flag.read'] }],
  })
  const asReader = { ...env, ROLLCALL_TOKEN: narrow.clientToken }
  t.equal((await rollcall(['flag', 'list', '-n', 'nope'], asReader)).exit, 0, 'who may not see namespaces is not told')
  t.equal((await flag('get', 'f0', '--at', 'soon')).exit, 2)
  t.equal((await flag('get', 'f0', '--at', '-1h')).exit, 4, 'an hour ago there was none')
})

await t.test('the command flag delete works through the service, and on the data of a stopped one', async (t) => {
  // This test requires a data directory, whatever storage the suites use.
  const embedded = { 'storage.type': 'embedded' }
  const service = await startService(t, embedded)
  const env = { ROLLCALL_TOKEN: service.token, ROLLCALL_ADDRESS: service.url }
  const root = '/api/v1/namespaces/default'
  await service.request('POST', `${root}/segments`, { key: 's', name: 'S' })
  for (const key of ['f', 'g', 'h']) {
    await service.request('POST', `${root}/flags`, { key, name: key })
    await service.request('POST', `${root}/flags/${key}/rules`, { segmentKey: 's' })
  }
  t.match(await rollcall(['flag', 'delete', 'f'], env), { exit: 2, err: /Delete flag "default\/f".*--yes/s })
  t.match(await rollcall(['flag', 'delete', 'f', '--yes'], env), { exit: 0, out: 'default/f deleted\n' })
  t.match(await rollcall(['flag', 'delete', 'f', '--yes'], env), { exit: 4, err: /flag "default\/f" not found/ })

  const data = join(service.directory, 'data')
  const offline = (key: string, ...more: readonly string[]) =>
    rollcall(['flag', 'delete', key, '--yes', '--data', data, ...more])
  t.match(await offline('g'), { exit: 1, err: /is in use by process/ })
  await service.close()
  t.match(await offline('g', '--reason', 'it filled memory'), { exit: 0, out: 'default/g deleted\n', err: '' })
  t.match(await offline('g'), { exit: 4, err: /flag "default\/g" not found/ })
  t.match(await offline('h', '-n', 'none'), { exit: 4, err: /namespace "none" not found/ })
  t.match(await rollcall(['flag', 'delete', 'h', '--yes', '--data', join(data, 'none')]), {
    exit: 4,
    err: /There is no .*none/,
  })

  const store = await openStores(loadConfig({ env: {}, flags: { 'storage.data_dir': data } }).config, systemClock, {})
  const [deleted] = (await collect(store.log.readAll(0n))).slice(-3)
  t.match(deleted, { stream: 'flag-default+g', type: 'FlagDeleted' })
  t.match(JSON.parse(deleted!.meta), {
    actor: { kind: 'operator', user: userInfo().username, host: hostname() },
    reason: 'it filled memory',
    instance: 'command-line',
  })
  await store.close()

  const again = await startService(t, embedded, { directory: service.directory })
  const keys = (await again.request<{ flags: { key: string }[] }>('GET', `${root}/flags`)).json.flags.map(
    ({ key }) => key,
  )
  t.same(keys, ['h'])
  await again.request('DELETE', `${root}/flags/h`)
  t.equal((await again.request('DELETE', `${root}/segments/s`)).status, 200, 'the segment was given free by both')
})
