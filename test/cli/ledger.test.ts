import { existsSync } from 'node:fs'
import { chmod, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { newDirectory } from '../adapters/embedded/store.ts'
import { startService } from '../start.ts'
import { eventually } from '../wait.ts'
import { rollcall } from './service.ts'

type Status = {
  readonly state: string
  readonly why?: string
  readonly origin: string
  readonly size: number
  readonly sealed: { readonly size: number }
  readonly keys: readonly { readonly vkey: string }[]
}

/** Changes the metadata of an event, with the triggers as they were. */
const changeMeta = async (file: string): Promise<void> => {
  const database = await openDatabase(file, 'durable')
  const { sql } = database.prepare("select sql from sqlite_schema where name = 'events_never_change'").get() as {
    sql: string
  }
  database.exec(`drop trigger events_never_change; update events set meta = meta || ' ' where position = 2; ${sql}`)
  database.close()
}

await t.test('the ledger is resumed, rebuilt and restarted on the command line', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const data = join(service.directory, 'data')
  const sealed = await service.request<{ text: string; size: number }>('POST', '/audit/v1/ledger/checkpoint', {})
  t.equal(sealed.status, 200)
  await service.close()
  const file = join(service.directory, 'checkpoint')
  const ledger = (verb: string, ...more: readonly string[]) => rollcall(['ledger', verb, '--data', data, ...more])
  const status = async () => JSON.parse((await ledger('status', '-o', 'json')).out) as Status
  const change = async (name: string, sql: string) => {
    const database = await openDatabase(join(data, name), 'durable')
    database.exec(sql)
    database.close()
  }
  const first = await status()
  t.match(first, { state: 'ok', sealed: { size: first.size }, keys: [{ compromised: false }] })
  t.match(await ledger('rebuild'), { exit: 2, err: /--yes/ }, 'asks')
  t.match(await ledger('rebuild', '--yes'), { exit: 0, err: new RegExp(`those of ${first.size} events`) })

  await writeFile(file, sealed.json.text)
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 3, err: /covers \d+/ }, 'older than sealed')
  const newest = await openDatabase(join(data, 'ledger.sqlite'), 'durable')
  const { text } = newest.prepare('select text from checkpoints order by size desc').get() as { text: string }
  newest.exec('delete from sealed; delete from checkpoints')
  newest.close()
  await rm(join(data, 'signing-key.pem.sealed'))
  t.match(await status(), { state: 'suspended', why: /no sealed record/ })
  t.match(await ledger('resume', '--checkpoint', join(data, 'none'), '--yes'), { exit: 4 })
  await writeFile(file, text.replace(/^(.*\n)\d+/, '$199'))
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 3, err: /wrong signature/ })
  await writeFile(file, text.slice(0, -4))
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 2, err: /is not a checkpoint/ })
  await writeFile(file, `\ufeff${text.replaceAll('\n', '\r\n')}\r\n`)
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 0, err: /of \d+ events/ })
  t.equal((await status()).state, 'ok')

  await changeMeta(join(data, 'events.sqlite'))
  t.match(await status(), { state: 'diverged', why: /not the sealed ones/ })
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 3, err: /not the sealed ones/ })
  t.match(await ledger('rebuild', '--yes'), { exit: 3, err: /not the sealed ones/ })

  const key = await readFile(join(data, 'signing-key.pem'), 'utf8')
  t.match(await ledger('restart', '--reason', ' ', '--yes'), { exit: 2 })
  const withToken = await ledger('restart', '--reason', `not rct_${'0'.repeat(49)}`, '--yes')
  t.match(withToken, { exit: 2, err: /--reason must not contain a client token/ })
  const restarted = await ledger('restart', '--reason', 'a drill', '--yes')
  t.match(restarted, { exit: 0, out: /^\S+\+[0-9a-f]{8}\+\S+\n$/, err: /A new ledger begins/ })
  t.not(await readFile(join(data, 'signing-key.pem'), 'utf8'), key)
  const after = await status()
  t.match(after, { state: 'ok', size: first.size + 1 })
  t.not(after.origin, first.origin)
  // A crash after the event leaves the next key, the old key and the old sealed record.
  await writeFile(join(data, 'signing-key.pem.next'), await readFile(join(data, 'signing-key.pem')), { mode: 0o600 })
  await writeFile(join(data, 'signing-key.pem'), key)
  await change('ledger.sqlite', `update sealed set record = replace(record, '"ledger":"', '"ledger":"x')`)
  t.match(await status(), { state: 'suspended' })
  t.match(await ledger('restart', '--reason', 'again', '--yes'), { exit: 0, err: /interrupted restart/ })
  t.match(await status(), { state: 'ok', size: first.size + 1 })
})

await t.test('a signing key that is unusable suspends the ledger, and the service starts', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const { directory } = service
  const data = join(directory, 'data')
  const key = join(data, 'signing-key.pem')
  const pem = await readFile(key, 'utf8')
  const state = async () => (await service.request<Status>('GET', '/audit/v1/ledger')).json.state
  const linesOf = async () =>
    (await service.logged())
      .split('\n')
      .filter((line) => line.includes('"level":"ERROR"'))
      .map((line) => JSON.parse(line) as { readonly msg: string; readonly why?: string })
  for (const content of ['garbage', '', pem.replace('PRIVATE', 'PUBLIC')]) {
    const before = (await linesOf()).length
    await service.reopen(async () => writeFile(key, content))
    await eventually(async () => (await state()) === 'suspended', 'suspended')
    t.equal((await service.request('GET', '/api/v1/namespaces')).status, 200, 'the service goes on')
    t.match((await linesOf()).slice(before), [
      { msg: /^the ledger is suspended/, why: /signing-key.pem has no Ed25519 private key/ },
    ])
    await service.close()
    const { out } = await rollcall(['ledger', 'status', '--data', data, '-o', 'json'])
    t.match(JSON.parse(out), { state: 'suspended', why: /signing-key.pem has no Ed25519 private key/ })
  }
  await writeFile(key, pem)
  await chmod(key, 0o644)
  await t.rejects(service.reopen(), /readable by other users/)
  await chmod(key, 0o600)
  await writeFile(key, 'garbage')
  const restarted = await rollcall(['ledger', 'restart', '--reason', 'lost key', '--yes', '--data', data])
  t.match(restarted, { exit: 0 }, 'a restart replaces it')
  await service.reopen()
  await eventually(async () => (await state()) === 'ok', 'ok')
})

await t.test('a ledger that cannot begin with the given signing key is suspended', async (t) => {
  const directory = await newDirectory(t)
  const key = join(directory, 'given.pem')
  await writeFile(key, 'garbage', { mode: 0o600 })
  const service = await startService(t, { 'storage.type': 'embedded', 'history.ledger.key_file': key })
  const state = async () => (await service.request<Status>('GET', '/audit/v1/ledger')).json.state
  await eventually(async () => (await state()) === 'suspended', 'suspended')
  t.equal((await service.request('POST', '/audit/v1/ledger/checkpoint', {})).status, 503)
  t.equal((await service.request('GET', '/api/v1/namespaces')).status, 200)
  await rm(key)
  await eventually(async () => (await state()) === 'ok', 'ok')
  t.equal((await service.request('POST', '/audit/v1/ledger/checkpoint', {})).status, 200, 'a new key begins it')
})

await t.test('a changed signing key is followed from the old one to the new one', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const data = join(service.directory, 'data')
  const earlier = join(service.directory, 'earlier')
  await writeFile(
    earlier,
    (await service.request<{ text: string }>('POST', '/audit/v1/ledger/checkpoint', {})).json.text,
  )
  await service.close()
  const ledger = (verb: string, ...more: readonly string[]) => rollcall(['ledger', verb, '--data', data, ...more])
  const status = async () => JSON.parse((await ledger('status', '-o', 'json')).out) as Status
  const before = await status()
  const old = before.keys[0]!.vkey
  const key = await readFile(join(data, 'signing-key.pem'), 'utf8')
  t.match(await ledger('rotate-key'), { exit: 2, err: /--yes/ }, 'asks')
  const changed = await ledger('rotate-key', '--yes')
  t.match(changed, { exit: 0, out: /^\S+\+[0-9a-f]{8}\+\S+\n$/, err: /The signing key is replaced/ })
  const vkey = changed.out.trim()
  t.match(await status(), {
    state: 'ok',
    origin: before.origin,
    size: before.size + 1,
    sealed: { size: before.size + 1 },
    keys: [
      { vkey: old, compromised: false },
      { vkey, compromised: false },
    ],
  })
  t.not(await readFile(join(data, 'signing-key.pem'), 'utf8'), key)
  t.notOk(existsSync(join(data, 'signing-key.pem.next')), 'the next key has one place')

  await service.reopen()
  type Page = { readonly checkpoints: readonly { readonly size: number; readonly text: string }[] }
  const { json } = await service.request<Page>('GET', '/audit/v1/ledger/checkpoints')
  const both = json.checkpoints.find(({ size }) => size === before.size + 1)!
  t.equal(both.text.split('\n— ').length, 3, 'two signatures')
  await service.close()
  const [out, file] = [join(service.directory, 'out.ndjson'), join(service.directory, 'both')]
  await writeFile(file, both.text)
  t.equal((await rollcall(['events', 'export', out, '--data', data, '--no-progress'])).exit, 0)
  const verify = (...more: readonly string[]) => rollcall(['events', 'verify', out, '--no-progress', ...more])
  t.match(await verify('--vkey', old), { exit: 3, out: /unknown key/ })
  t.match(await verify('--vkey', old, '--checkpoint', file), { exit: 0 })
  t.match(await verify('--vkey', vkey), { exit: 0 })

  t.equal((await rollcall(['events', 'verify', '--data', data, '--no-progress', '--checkpoint', earlier])).exit, 0)
  for (const option of ['--against', '--checkpoint']) {
    const part = join(service.directory, `out${option}`)
    t.equal((await rollcall(['events', 'export', part, '--data', data, '--no-progress', option, earlier])).exit, 0)
    t.equal(
      (await rollcall(['events', 'verify', part, '--no-progress', '--checkpoint', earlier, '--vkey', old])).exit,
      option === '--against' ? 3 : 0,
      option,
    )
  }

  const lost = await ledger('rotate-key', '--compromised', '--yes')
  const { keys, state, sealed } = await status()
  t.match(
    { keys, state },
    { state: 'ok', keys: [{ compromised: false }, { vkey, compromised: true }, { compromised: false }] },
  )
  t.equal(keys.at(-1)!.vkey, lost.out.trim())
  await service.reopen()
  const newest = await service.request<Page>('GET', '/audit/v1/ledger/checkpoints')
  const first = newest.json.checkpoints.find(({ size }) => size === sealed.size)!
  t.equal(first.text.split('\n— ').length, 2, 'the new signature alone')
})
