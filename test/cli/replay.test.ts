import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { rollcall } from './service.ts'

const FLAGS = '/api/v1/namespaces/default/flags'

/** A service with tokens and flags of every kind of end, and the command on it. */
const withHistory = async (t: Parameters<typeof startService>[0]) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const { directory, request } = service
  const [data, file] = [join(directory, 'data'), (name: string) => join(directory, name)]
  const run = (...args: readonly string[]) =>
    rollcall(args, { ROLLCALL_ADDRESS: service.url, ROLLCALL_TOKEN: service.token })
  const issued = await request<{ authentication: { id: string } }>('POST', '/auth/v1/method/token', { name: 'n' })
  await request('DELETE', `/auth/v1/tokens/${issued.json.authentication.id}`)
  for (const key of ['f', 'g']) await request('POST', FLAGS, { key, name: key, type: 'BOOLEAN_FLAG_TYPE' })
  await request('DELETE', `${FLAGS}/g`)
  await run('events', 'export', file('all.ndjson'), '--gzip', '-q')
  const replay = (...args: readonly string[]) => run('events', 'replay', ...args)
  return { service, data, file, run, replay }
}

await t.test('an export, a directory and a service are replayed to the read models of the service', async (t) => {
  const { service, data, file, replay } = await withHistory(t)
  const [exported, beginning] = [
    await replay(file('all.ndjson'), '-o', 'json'),
    await replay('--until', '@0', '-o', 'json'),
  ]
  t.match(exported, { exit: 0, err: /Replayed \d+ events/ })
  const models = JSON.parse(exported.out) as readonly { name: string; rows: number }[]
  t.match(models.find(({ name }) => name === 'flags')?.rows, 2)
  t.match(models.find(({ name }) => name === 'tokens')?.rows, 2)
  t.match(beginning, { exit: 0, err: /Replayed 1 events/ })
  t.equal((await replay('--projection', 'flags', '-o', 'name')).out, 'flags\n')
  t.equal((await replay('--projection', 'none')).exit, 4)
  const printed = await replay(file('all.ndjson'), '--print', '--speed', '999999x', '-q')
  t.match(printed, { exit: 0, err: '' })
  t.match(printed.out.split('\n').length - 1, JSON.parse(readFileSync(file('all.ndjson.manifest.json'), 'utf8')).events)

  await service.close()
  t.match(await replay('--data', data, '--compare', data), { exit: 0, err: /are equal/ })
  const database = await openDatabase(join(data, 'views.sqlite'), 'durable')
  const { name } = database.prepare(`select name from sqlite_schema where name glob 'flags_[0-9]*'`).get() as {
    name: string
  }
  database.exec(`update "${name}" set _doc = replace(_doc, '"name":"f"', '"name":"h"') where _key = 'default+f'`)
  t.match(await replay('--data', data, '--compare', data), { exit: 3, err: /flags default\+f: another document/ })
  database.exec(`delete from "${name}" where _key = 'default+f'`)
  database.close()
  t.match(await replay('--data', data, '--compare', data), { exit: 3, err: /flags default\+f: only in the replay/ })
})

await t.test('a replay is compared with the read models of the running service', async (t) => {
  const { service, file, run, replay } = await withHistory(t)
  const { url, request } = service
  t.match(await replay('--compare', url), { exit: 0, err: /The read models of .* are equal\./ })
  const etag = (await request('GET', `${FLAGS}/f`)).headers['etag']!
  await request('PUT', `${FLAGS}/f`, { name: 'changed later' }, { 'if-match': etag })
  const equal = await replay(file('all.ndjson'), '--projection', 'flags', '--compare', url)
  t.match(equal, { exit: 0, err: /are equal, except for 1 row that a later event has changed\./ })
  await request('POST', FLAGS, { key: 'h', name: 'h', type: 'BOOLEAN_FLAG_TYPE' })
  t.equal((await replay('--compare', url)).exit, 0)

  await run('events', 'export', file('more.ndjson'), '-q')
  const lines = readFileSync(file('more.ndjson'), 'utf8')
  const wrong = (change: (text: string) => string) => {
    writeFileSync(file('more.ndjson'), change(lines))
    return replay(file('more.ndjson'), '--no-verify', '--compare', url)
  }
  t.match(await wrong((text) => text.replaceAll('"name":"h"', '"name":"x"')), {
    exit: 3,
    err: /differ: flags default\+h: another document\./,
  })
  t.match(await wrong((text) => text.replaceAll('default+h', 'default+z').replaceAll('"key":"h"', '"key":"z"')), {
    exit: 3,
    err: /differ: flags default\+h: not in the replay\./,
  })
  t.match(await replay('--compare', `${url}/elsewhere`), { exit: 4 })
  t.match(await replay('--compare', url, '--into', file('new')), { exit: 2, err: /cannot be used with --into/ })
  t.match(await request('GET', '/audit/v1/read-models/none'), {
    status: 404,
    json: { message: 'read model "none" not found' },
  })
})

await t.test('a replay into a directory has the same log and read models, and starts without its keys', async (t) => {
  const { service, data, file, replay } = await withHistory(t)
  const into = file('copy/data')
  t.match(await replay(file('all.ndjson'), '--into', into), { exit: 1, err: /cannot be written/ })
  const other = join(service.directory, 'data-copy')
  t.match(await replay(file('all.ndjson'), '--into', other, '--compare', file('none')), { exit: 4 })
  t.notOk(existsSync(other), 'nothing is kept of a replay that fails')
  t.strictSame(
    readdirSync(service.directory).filter((name) => name.includes('partial')),
    [],
  )
  t.match(await replay(file('all.ndjson'), '--into', other), { exit: 0, err: /without keys/ })
  t.match(await replay(file('all.ndjson'), '--into', other), { exit: 6, err: /is not empty/ })
  t.notOk(existsSync(join(other, 'keys')))
  const { events } = JSON.parse(readFileSync(file('all.ndjson.manifest.json'), 'utf8')) as { events: number }
  await service.close()
  const rows = async (directory: string) => {
    const database = await openDatabase(join(directory, 'events.sqlite'), 'read')
    const all = database.prepare('select * from events where position <= ? order by position').all(events)
    database.close()
    return all
  }
  t.strictSame(await rows(other), await rows(data))
  t.equal((await replay('--data', other, '--compare', other)).exit, 0)
  // Tokens do not come along: their digests need the lost key.
  const settings = { 'storage.type': 'embedded', 'storage.data_dir': other, 'authentication.required': 'false' }
  await t.rejects(startService(t, settings), 'the keys are missing')
  const started = await startService(t, settings, { acceptLostKeys: 'a replay' })
  t.match((await started.request('GET', `${FLAGS}/f`, undefined, { authorization: '' })).json, { key: 'f' })
  const state = async () => (await started.request('GET', '/audit/v1/ledger', undefined, { authorization: '' })).json
  await eventually(async () => (await state())['state'] === 'suspended', 'a ledger that is suspended')
})

await t.test('an export that is changed, filtered or incomplete is not replayed', async (t) => {
  const { file, run, replay } = await withHistory(t)
  await run('events', 'export', file('plain.ndjson'), '-q')
  const text = readFileSync(file('plain.ndjson'), 'utf8')
  writeFileSync(file('plain.ndjson'), text.replace('"name":"f"', '"name":"h"'))
  t.match(await replay(file('plain.ndjson')), { exit: 3, out: /wrong file hash/, err: /nothing was replayed/ })
  t.match(await replay(file('plain.ndjson'), '--no-verify'), { exit: 0 })
  writeFileSync(file('plain.ndjson'), text.split('\n').toSpliced(1, 1).join('\n'))
  t.match(await replay(file('plain.ndjson'), '--no-verify'), { exit: 3, err: /does not have event 1 in its place/ })
  await run('events', 'export', file('some.ndjson'), '-q', '--category', 'flag')
  t.match(await replay(file('some.ndjson')), { exit: 2, err: /without a filter/ })
  await run('events', 'export', file('all.csv'), '-q', '--format', 'csv')
  t.match(await replay(file('all.csv')), { exit: 2, err: /use ndjson/ })
  t.equal((await replay(file('none'))).exit, 4)
  t.equal((await replay('--speed', '2x')).exit, 2)
  t.equal((await replay('--speed', 'fast', '--print')).exit, 2)
  t.equal((await replay('--until', 'soon')).exit, 2)
})
