import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { EventStoreDBClient } from '@eventstore/db-client'
import t, { type Test } from 'tap'
import { openKeyFile, readKeyFile } from '../src/adapters/embedded/files/secret-file.ts'
import { signingKeyFile } from '../src/adapters/embedded/ledger/signing-key-file.ts'
import { refusals } from '../src/base/errors.ts'
import { newDirectory } from './adapters/embedded/store.ts'
import { CHILD, has, inspect, leaveOut, startChild } from './crash/rig.ts'
import { allEventsOf } from './http/events-of.ts'
import { startEventStore } from './stand-ins/eventstoredb/server.ts'
import { startService } from './start.ts'
import { eventually } from './wait.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = await readFile(join(root, 'docs/guides/operations.md'), 'utf8')
const run = promisify(execFile)

/** Runs a named code block of the guide in a directory and returns its output. */
const follow = async (name: string, cwd: string, env: Readonly<Record<string, string>> = {}): Promise<string> => {
  const [, language, text] = new RegExp(`\`\`\`(sh|python) ${name}\n([^]*?)\`\`\``).exec(guide) ?? []
  if (text === undefined) throw new Error(`the guide has no block ${name}`)
  const args = language === 'sh' ? ['-euc', text] : ['-c', text]
  return (await run(language === 'sh' ? 'sh' : 'python3', args, { cwd, env: { ...process.env, ...env } })).stdout
}
const section = (title: string) =>
  guide
    .slice(guide.indexOf(`\n## ${title}\n`))
    .slice(1)
    .split('\n## ')[0]!

/** Skips a test if tools of the guide are not installed. */
const without = async (t: Test, ...commands: readonly string[]): Promise<boolean> => {
  for (const command of commands) {
    if (await has(command)) continue
    leaveOut(t, `there is no ${command}`)
    return true
  }
  return false
}

await t.test('a backup by the guide, taken while eight clients write, has all acknowledged events', async (t) => {
  if (await without(t, 'sqlite3')) return
  const directory = await newDirectory(t)
  const data = join(directory, 'data')
  await mkdir(data)
  await writeFile(join(data, 'keys'), '{}', { mode: 0o600 })
  const writers = startChild([CHILD, data, '8'])
  await writers.until(() => writers.count('ack') > 200, 'two hundred acknowledgements')
  const before = writers.acked()
  await follow('backup', directory)
  const during = writers.count('ack')
  await writers.until(() => writers.count('ack') > during + 50, 'fifty more')
  t.ok(writers.count('ack') > during, 'the writers went on')
  await writers.kill()

  t.match(await follow('check', directory), /^ok\n\d+\|\d+\|20/)
  await follow('restore', directory)
  const { events, lost, torn, differing } = await inspect(join(directory, 'restored'), before)
  t.same(
    { lost, torn, differing },
    { lost: 0, torn: 0, differing: 0 },
    `${before.size} acknowledged before, ${events} in the backup`,
  )
  t.ok(events >= before.size)
})

await t.test('a service restored from a backup has its tokens, flags and people', async (t) => {
  if (await without(t, 'sqlite3')) return
  const service = await startService(t)
  const made = await service.request<{ clientToken: string }>('POST', '/auth/v1/method/token', { name: 'kept' })
  await service.request('POST', '/api/v1/namespaces/default/flags', {
    key: 'kept',
    name: 'Kept',
    type: 'BOOLEAN_FLAG_TYPE',
  })
  const stateOf = async ({ request }: typeof service) =>
    (await request<{ state: string }>('GET', '/audit/v1/ledger')).json.state
  // Only a log that names its ledger is suspended without the sealed record.
  await eventually(async () => (await stateOf(service)) === 'ok', 'the ledger')
  await follow('backup', service.directory)
  await follow('restore', service.directory)
  await service.close()
  const there = join(service.directory, 'restored')
  t.same(await openKeyFile(join(there, 'keys')), await openKeyFile(join(service.directory, 'data', 'keys')))

  const restored = await startService(t, { 'storage.data_dir': there, 'log.file': join(there, 'log') })
  const bearer = { authorization: `Bearer ${made.json.clientToken}` }
  t.match(await restored.request('GET', '/api/v1/namespaces/default/flags/kept', undefined, bearer), {
    status: 200,
    json: { name: 'Kept' },
  })
  const state = () => stateOf(restored)
  t.equal(await eventually(async () => (await state()) !== 'building' && state(), 'the tree'), 'suspended')
})

await t.test('the command in the guide prints the log while the service runs', async (t) => {
  if (await without(t, 'sqlite3', 'python3')) return
  const service = await startService(t)
  await service.request('POST', '/auth/v1/method/token', { name: 'for the guide' })
  const sql = await follow('read-sqlite', service.directory)
  t.match(sql, /^type\|events\|latest\nTokenIssued\|2\|20/)
  t.match(sql, /Z\|initial_bootstrap_token\n.*Z\|for the guide\n$/)
  t.match(await follow('read-python', service.directory), /^1 20\S+ namespace-default NamespaceCreated system\n2 /)
  await follow('export-json', service.directory)
  const exported = JSON.parse(await readFile(join(service.directory, 'events.json'), 'utf8')) as object[]
  t.equal(exported.length, (await allEventsOf(service.directory)).length)
})

await t.test('DuckDB can read the export as the guide shows', async (t) => {
  const there = await run('python3', ['-c', 'import duckdb']).then(
    () => true,
    () => false,
  )
  if (!there) return leaveOut(t, 'needs duckdb for python3 (pip install duckdb)')
  if (await without(t, 'sqlite3')) return
  const service = await startService(t)
  await follow('export-json', service.directory)
  t.match(await follow('read-duckdb', service.directory), /TokenIssued +│ +1/)
})

await t.test('the service accepts the key file that the guide creates for a Kubernetes Secret', async (t) => {
  const directory = await newDirectory(t)
  await follow('make-keys', directory)
  const { pepper, kek } = (await readKeyFile(join(directory, 'keys')))!
  t.match(pepper.kid, /^[0-9a-f]{8}$/)
  t.same([pepper.key.length, kek.length], [32, 32])
})

await t.test('the service reads the signing key that the guide creates, mounted as a Secret', async (t) => {
  if (await without(t, 'openssl')) return
  const directory = await newDirectory(t)
  await follow('make-signing-key', directory)
  const file = join(directory, 'signing-key.pem')
  await chmod(file, 0o440)
  t.match(await signingKeyFile(file).read(), { type: 'private', asymmetricKeyType: 'ed25519' })
})

await t.test('the backup with Node.js in the guide works without sqlite3', async (t) => {
  const service = await startService(t)
  const backup = join(service.directory, 'backup')
  await mkdir(backup)
  await follow('backup-node', root, { DATA: join(service.directory, 'data'), BACKUP: backup })
  await writeFile(join(backup, 'keys'), await readFile(join(service.directory, 'data', 'keys')), { mode: 0o600 })
  await service.close()
  const restored = await startService(t, { 'storage.data_dir': backup, 'log.file': join(backup, 'log') })
  t.equal((await restored.request('GET', '/auth/v1/tokens')).status, 200)
})

await t.test('the guide gives an EventStoreDB user exactly the rights that the service needs', async (t) => {
  const store = await startEventStore()
  t.teardown(() => store.kill())
  await follow('esdb-user', root, { STORE: store.url, NAME: 'admin', PASSWORD: 'changeit' })
  const client = EventStoreDBClient.connectionString`${store.url}`
  const { metadata } = await client.getStreamMetadata('$all')
  t.strictSame(metadata?.acl?.readRoles, ['$admins', 'rollcall'])
  const written: unknown[] = []
  for await (const { event } of client.readStream('$settings')) written.push(event?.data)
  t.match(written, [{ $userStreamAcl: { $r: ['rollcall'], $w: ['rollcall'], $d: ['$admins'], $mw: ['$admins'] } }])
  await client.dispose()
})

await t.test('every reason and every file that the guide names exists', async (t) => {
  const reasons = [...section('Effects of failures').matchAll(/503 `(\w+)`/g)].map(([, reason]) => reason!)
  t.ok(reasons.length >= 5)
  for (const reason of reasons)
    t.equal((refusals as Readonly<Record<string, { status: number }>>)[reason]?.status, 503, reason)

  const service = await startService(t)
  const files = [...section('The files of a data directory').matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell]) =>
    cell!.split(', '),
  )
  const databases = ['`events.sqlite`', '`views.sqlite`', '`memory.snapshot`', '`subjects.sqlite`']
  const ledger = ['`signing-key.pem`', '`signing-key.pem.sealed`', '`ledger.sqlite`']
  t.same(files, [...databases, '`keys`', ...ledger, '`lock`', '`lock.pid`'])
  await service.reopen()
  for (const file of files) t.ok(await readFile(join(service.directory, 'data', file.replaceAll('`', ''))), file)
})

await t.test('the guide lists every field of a log line', async (t) => {
  const known = new Set(section('Log').match(/(?<=`)\w+(?=`)/g))
  const service = await startService(t, { 'authentication.methods.token.bootstrap.token': undefined })
  const token = /"client_token":"([^"]+)"/.exec(await service.logged())![1]!
  await service.request('POST', '/auth/v1/method/token', { name: 'n' }, { authorization: `Bearer ${token}` })
  await service.close()
  const lines = (await service.logged()).trim().split('\n')
  const fields = new Set(lines.flatMap((line) => Object.keys(JSON.parse(line) as object)))
  t.ok(fields.has('client_token') && fields.has('requestId') && fields.has('actor'), [...fields].join(' '))
  for (const field of fields) t.ok(known.has(field), field)
})

await t.test('the links in the guides lead to existing pages and sections', async (t) => {
  for (const page of ['operations.md', 'moving.md']) {
    const text = await readFile(join(root, 'docs/guides', page), 'utf8')
    for (const [, target] of text.matchAll(/\]\(([^)#h][^)#]*)/g))
      t.ok(await readFile(join(root, 'docs/guides', target!)), `${page}: ${target}`)
  }
})
