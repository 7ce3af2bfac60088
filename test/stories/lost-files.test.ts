import { spawnSync } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/base/clock.ts'
import { rollcall } from '../cli/service.ts'
import { type Started, startService } from '../start.ts'
import { eventually } from '../wait.ts'

/** Restores, exchanges or truncates files of a data directory, and starts the service on them. */
const embedded = { 'storage.type': 'embedded' }
const F = '/api/v1/namespaces/default/flags'
const flag = { key: 'f', name: 'one', type: 'BOOLEAN_FLAG_TYPE' }

type Issued = { readonly clientToken: string; readonly authentication: { readonly id: string } }
type Line = Readonly<Record<string, unknown>>

const scratch = async (t: Test) => {
  const directory = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(directory, { recursive: true, force: true }))
  return directory
}
const dataOf = ({ directory }: Pick<Started, 'directory'>) => join(directory, 'data')
/** Copies the files as a kill at this moment would leave them, without pending work. */
const copied = async (t: Test, service: Started) => {
  const copy = join(await scratch(t), 'data')
  // A file that is being written has another name, which ends at any time.
  await cp(dataOf(service), copy, { recursive: true, filter: (path) => !path.endsWith('.new') })
  return copy
}
/** Replaces a database and its auxiliary files by another. */
const putBack = async (name: string, from: string, to: string) => {
  for (const file of await readdir(to)) if (file.startsWith(name)) await rm(join(to, file))
  for (const file of await readdir(from)) if (file.startsWith(name)) await cp(join(from, file), join(to, file))
}
const issue = async (service: Started) => {
  const { status, json } = await service.request<Issued>('POST', '/auth/v1/method/token', { name: 'n' })
  if (status !== 200) throw new Error(`no token: ${status}`)
  return { bearer: { authorization: `Bearer ${json.clientToken}` }, id: json.authentication.id }
}
const accepted = async (service: Started, bearer: { readonly authorization: string }) =>
  (await service.request('GET', '/auth/v1/self', undefined, bearer)).status
const lines = async (service: Started, level = 'ERROR') =>
  (await service.logged())
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)
    // The ledger reports a log that is not the sealed one, at any time after the start.
    .filter((line) => line['level'] === level && !/^(?:the ledger is|history is damaged)/.test(String(line['msg'])))
const evaluated = async (service: Started) =>
  (await service.request<{ enabled: boolean }>('POST', '/evaluate/v1/boolean', { flagKey: 'f', entityId: 'e' })).json
    .enabled
const events = async (service: Pick<Started, 'directory'>) => {
  const { openEmbedded } = await import('../../src/adapters/embedded/open.ts')
  const { openKeyFile } = await import('../../src/adapters/embedded/files/secret-file.ts')
  const { kek } = await openKeyFile(join(dataOf(service), 'keys'))
  const { log, close } = await openEmbedded(dataOf(service), { clock: systemClock, kek, onError: () => undefined })
  const all = []
  for await (const page of log.readAll(0n)) all.push(...page)
  await close()
  return all
}
/** Replaces the log of a stopped service by a copy, and returns the number of events that the copy lacks. */
const lost = async (service: Started, copy: string): Promise<number> => {
  const whole = await events(service)
  await putBack('events.sqlite', copy, dataOf(service))
  return whole.length - (await events(service)).length
}
const names = async (service: Started) => {
  const { json } = await service.request<{ flags: readonly { name: string }[] }>('GET', F)
  return json.flags.map(({ name }) => name)
}

await t.test('read models newer than the event log are rebuilt, and that is logged', async (t) => {
  const first = await startService(t, embedded)
  t.equal((await first.request('POST', F, flag)).status, 200)
  const live = await issue(first)
  const copy = await copied(t, first)
  for (const name of ['two', 'three'])
    t.equal((await first.request('PUT', `${F}/f`, { ...flag, name, enabled: true })).status, 200)
  t.equal((await first.request('POST', F, { ...flag, key: 'g' })).status, 200)
  t.equal((await first.request('DELETE', `/auth/v1/tokens/${live.id}`)).status, 200)
  const gone = await issue(first)
  await first.close()
  const eventsGone = await lost(first, copy)

  const service = await startService(t, embedded, { directory: first.directory })
  t.equal((await service.request('GET', '/readyz')).status, 200)
  t.strictSame(await names(service), ['one'])
  t.equal(await evaluated(service), false)
  t.equal(await accepted(service, live.bearer), 200, 'the history does not know that it was revoked')
  t.equal(await accepted(service, gone.bearer), 401)
  t.match(await lines(service), [
    {
      msg: /^the read models do not match the event log and are rebuilt: the event log is shorter/,
      cause: 'shorter',
      events_gone: eventsGone,
    },
  ])
  t.equal((await service.request('PUT', `${F}/f`, { ...flag, name: 'new', enabled: true })).status, 200)
  t.strictSame(await names(service), ['new'])
  t.equal(await evaluated(service), true)
  const state = async () => (await service.request<{ state: string }>('GET', '/audit/v1/ledger')).json.state
  await eventually(async () => (await state()) === 'diverged', 'the ledger reports that the log is shorter')
  await service.reopen()
  t.strictSame(await names(service), ['new'])
  t.equal((await lines(service)).length, 1, 'it is logged once')
  await service.close()
  t.match(
    (await events(service))
      .filter(({ type }) => type === 'ReadModelsRebuilt')
      .map(({ data }) => JSON.parse(data) as Line),
    [{ cause: 'shorter', eventsGone }],
  )
})

await t.test('each event lost with a truncated write-ahead log is reported', async (t) => {
  const first = await startService(t, embedded)
  const tokens = []
  for (let n = 0; n < 12; n++) tokens.push(await issue(first))
  for (const { id } of tokens.slice(0, 3)) await first.request('DELETE', `/auth/v1/tokens/${id}`)
  const directory = await scratch(t)
  await cp(await copied(t, first), dataOf({ directory }), { recursive: true })
  await cp(dataOf({ directory }), join(directory, 'whole', 'data'), { recursive: true })
  const whole = await events({ directory: join(directory, 'whole') })
  t.equal(whole.filter(({ type }) => type === 'TokenIssued').length, 13)
  const wal = join(directory, 'data', 'events.sqlite-wal')
  await truncate(wal, Math.floor((await stat(wal)).size * 0.7))

  const service = await startService(t, embedded, { directory })
  const [line, ...more] = await lines(service)
  t.match(line, { cause: 'shorter', read_models: ['tokens'] })
  t.strictSame(more, [])
  const { json } = await service.request<{ totalCount: number }>('GET', '/auth/v1/tokens?includeExpired=true')
  await service.close()
  const all = await events(service)
  const rebuilt = all.findIndex(({ type }) => type === 'ReadModelsRebuilt')
  t.equal(line!['events_gone'], whole.length - rebuilt)
  t.equal(json.totalCount, all.filter(({ type }) => type === 'TokenIssued').length)
})

await t.test('read models that were copied from a different data directory are rebuilt', async (t) => {
  const other = await startService(t, embedded)
  const foreign = await issue(other)
  await other.close()
  const first = await startService(t, embedded)
  const mine = await issue(first)
  await first.close()
  await putBack('views.sqlite', dataOf(other), dataOf(first))
  const service = await startService(t, embedded, { directory: first.directory })
  t.equal(await accepted(service, mine.bearer), 200)
  t.equal(await accepted(service, foreign.bearer), 401)
  t.match(await lines(service), [{ cause: 'another_log', events_gone: 0 }])
})

await t.test('read models of another directory without events are rebuilt', async (t) => {
  const other = await startService(t, embedded)
  const foreign = await issue(other)
  await other.close()
  const first = await startService(t, embedded)
  const mine = await issue(first)
  await first.close()
  const { openDatabase } = await import('../../src/adapters/embedded/sqlite.ts')
  const views = await openDatabase(join(dataOf(other), 'views.sqlite'), 'rebuildable')
  views.exec("update views set position = 0, event = '', log = '', events = 0, rows = 0")
  views.close()
  await putBack('views.sqlite', dataOf(other), dataOf(first))
  await rm(join(dataOf(first), 'memory.snapshot'), { force: true })
  const service = await startService(t, embedded, { directory: first.directory })
  t.equal(await accepted(service, mine.bearer), 200)
  t.equal(await accepted(service, foreign.bearer), 401)
  // Read models before their first checkpoint do not say of which log they are.
  t.match(await lines(service), [{ cause: 'rows_missing', events_gone: 0 }])
})

await t.test('rows that were deleted from the read models are restored', async (t) => {
  const first = await startService(t, embedded)
  const mine = await issue(first)
  // A list waits until the read models are caught up, which the end then records.
  t.equal((await first.request('GET', '/auth/v1/tokens')).status, 200)
  await first.close()
  const { openDatabase } = await import('../../src/adapters/embedded/sqlite.ts')
  const database = await openDatabase(join(dataOf(first), 'views.sqlite'), 'rebuildable')
  const [{ name }] = database.prepare("select name from sqlite_schema where name glob 'tokens_[0-9]*'").all() as [
    { name: string },
  ]
  database.exec(`delete from ${name}`)
  database.close()
  const service = await startService(t, embedded, { directory: first.directory })
  t.equal(await accepted(service, mine.bearer), 200)
  t.match(await lines(service), [{ cause: 'rows_missing', events_gone: 0, read_models: ['tokens'] }])
})

/** Time (ms) after which a hanging process is killed, before the limit of this file. */
const HANGS_MS = 240_000
const main = resolve(import.meta.dirname, '../../src/main.js')
const served = (directory: string) =>
  spawnSync(process.execPath, [main, 'serve', '--data', directory, '--host', '127.0.0.1', '--port', '0'], {
    encoding: 'utf8',
    timeout: HANGS_MS,
    env: { ...process.env, NODE_OPTIONS: '' },
  })
const contents = async (directory: string, name: string) => {
  const { openDatabase } = await import('../../src/adapters/embedded/sqlite.ts')
  const database = await openDatabase(join(directory, name), 'read')
  const found = JSON.stringify(database.prepare('select * from views').all())
  database.close()
  return found
}

await t.test('a foreign or emptied event log is refused with advice, and nothing is changed', async (t) => {
  const first = await startService(t, embedded)
  const other = await startService(t, { ...embedded, 'keys.file': join(dataOf(first), 'keys') })
  await issue(first)
  const whole = await copied(t, first)
  await first.close()
  await other.close()
  const data = dataOf(first)
  const views = await contents(data, 'views.sqlite')

  await putBack('events.sqlite', dataOf(other), data)
  const exchanged = served(data)
  t.equal(exchanged.status, 1, exchanged.stdout)
  t.match(exchanged.stderr, /This event log belongs to another deployment: its first event is/)
  t.match(exchanged.stderr, /Restore the right event log.*delete from binding/)
  t.match(exchanged.stdout, /"level":"ERROR".*This event log belongs to another deployment/)
  t.equal(await contents(data, 'views.sqlite'), views)

  for (const file of await readdir(data)) if (file.startsWith('events.sqlite')) await rm(join(data, file))
  for (const file of await readdir(data)) if (file.startsWith('views.sqlite')) await rm(join(data, file))
  const emptied = served(data)
  t.equal(emptied.status, 1, emptied.stdout)
  t.match(emptied.stderr, /it is empty, expected first event/)

  await putBack('events.sqlite', whole, data)
  const again = await startService(t, embedded, { directory: first.directory })
  t.equal((await again.request('GET', '/readyz')).status, 200, 'the right one put back is taken')
  await again.close()

  await putBack('events.sqlite', dataOf(other), data)
  await putBack('views.sqlite', dataOf(other), data)
  const { openDatabase } = await import('../../src/adapters/embedded/sqlite.ts')
  const subjects = await openDatabase(join(data, 'subjects.sqlite'), 'erasing')
  subjects.exec('delete from binding')
  subjects.close()
  const meant = await startService(t, embedded, { directory: first.directory })
  t.equal((await meant.request('GET', '/readyz')).status, 200, 'as is another one that is meant')
})

await t.test('if read models are older than the log, the service is ready once lists are complete', async (t) => {
  const first = await startService(t, { ...embedded, 'rate_limit.enabled': 'false' })
  const copy = await copied(t, first)
  for (let n = 0; n < 40; n++) await Promise.all(Array.from({ length: 50 }, () => issue(first)))
  await first.close()
  await putBack('views.sqlite', copy, dataOf(first))
  const service = await startService(t, embedded, { directory: first.directory })
  let unready = 0
  await eventually(async () => {
    const { status, json } = await service.request<{ checks: readonly Line[] }>('GET', '/readyz?verbose')
    if (status === 200) return true
    unready++
    t.match(
      json.checks.find(({ name }) => name === 'views'),
      { status: 'failed' },
    )
    return false
  }, 'the lists to be whole')
  const { json } = await service.request<{ totalCount: number }>('GET', '/auth/v1/tokens?pageSize=1')
  t.equal(json.totalCount, 2001)
  t.comment(`${unready} times not ready`)
})

/** All commands that write to a data directory. */
const verbs = [
  ['flag', 'delete', 'f', '--yes', '--data'],
  ['token', 'create', 'rescue', '--reason', 'locked out', '--data'],
  ['projections', 'rebuild', '--all', '--yes', '--data'],
] as const

await t.test('a command on the data directory refuses a foreign event log, as a start does', async (t) => {
  const first = await startService(t, embedded)
  const other = await startService(t, { ...embedded, 'keys.file': join(dataOf(first), 'keys') })
  t.equal((await other.request('POST', F, flag)).status, 200)
  await first.close()
  await other.close()
  const data = dataOf(first)
  await putBack('events.sqlite', dataOf(other), data)
  const views = await contents(data, 'views.sqlite')
  const away = join(await scratch(t), 'moved')
  for (const verb of verbs) {
    const { exit, err } = await rollcall([...verb, data])
    t.equal(exit, 1, err)
    t.match(err, /This event log belongs to another deployment/)
  }
  const { exit, err } = await rollcall(['migrate', '--from', data, '--to', away, '--yes'])
  t.equal(exit, 1, err)
  t.match(err, /belongs to another deployment/)
  t.equal(await contents(data, 'views.sqlite'), views)
  t.equal((await other.reopen(), await names(other)).length, 1, 'nothing was written to it')
})

for (const verb of verbs)
  await t.test(`${verb.slice(0, 2).join(' ')} reports lost events every time, and they stay recorded`, async (t) => {
    const first = await startService(t, embedded)
    t.equal((await first.request('POST', F, flag)).status, 200)
    await first.reopen()
    const copy = await copied(t, first)
    for (const name of ['two', 'three']) await first.request('PUT', `${F}/f`, { ...flag, name })
    const gone = await issue(first)
    await first.close()
    const eventsGone = await lost(first, copy)
    const { exit, err } = await rollcall([...verb, dataOf(first)])
    t.equal(exit, 0, err)
    t.match(err, /the read models do not match the event log.*shorter/)
    t.match(err, `"events_gone":${eventsGone},`)
    const service = await startService(t, embedded, { directory: first.directory })
    t.strictSame(await names(service), verb[0] === 'flag' ? [] : ['one'])
    t.equal(await accepted(service, gone.bearer), 401)
    t.strictSame(
      (await lines(service)).filter(({ cause }) => cause !== undefined),
      [],
    )
    await service.close()
    t.match(
      (await events(service))
        .filter(({ type }) => type === 'ReadModelsRebuilt')
        .map(({ data }) => JSON.parse(data) as Line),
      [{ cause: 'shorter', eventsGone, instance: 'command-line' }],
    )
  })
