import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { type Database, openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

type Checkpoint = { readonly size: number; readonly root: string; readonly text: string }

/** Runs statements on a table whose triggers forbid changes, and restores its triggers. */
const cutLog = (database: Database, size: number): void => {
  const triggers = database.prepare("select name, sql from sqlite_schema where type = 'trigger'").all() as {
    readonly name: string
    readonly sql: string
  }[]
  for (const { name } of triggers) database.exec(`drop trigger ${name}`)
  database.exec(`delete from events where position > ${size}`)
  for (const { sql } of triggers) database.exec(sql)
}

await t.test('events verify finds a forged record, a forged row and a cut log in a directory', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const seal = async (key: string) => {
    await service.request('POST', '/api/v1/flags', { key, name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
    return (await service.request<Checkpoint>('POST', '/audit/v1/ledger/checkpoint')).json
  }
  const early = await seal('one')
  await seal('two')
  await service.close()
  const whole = join(service.directory, 'data')
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const record = JSON.parse(await readFile(join(whole, 'signing-key.pem.sealed'), 'utf8')) as Checkpoint
  const inBoth = (text: string) => async (data: string) => {
    await writeFile(join(data, 'signing-key.pem.sealed'), `${text}\n`)
    const database = await openDatabase(join(data, 'ledger.sqlite'), 'durable')
    database.prepare('update sealed set record = ?').run(text)
    database.close()
  }
  const inDatabase = (name: string, work: (database: Database) => unknown) => async (data: string) => {
    const database = await openDatabase(join(data, name), 'durable')
    work(database)
    database.close()
  }
  const cases: readonly (readonly [name: string, tamper: (data: string) => Promise<void>, found: RegExp])[] = [
    ['unchanged', async () => undefined, /^verified \d+ events/],
    [
      'the signature of both records',
      inBoth(JSON.stringify({ ...record, text: `${record.text.slice(0, -9)}AAAAAAA=\n` })),
      new RegExp(`^sealed record of size ${record.size}: wrong signature$`, 'm'),
    ],
    [
      'a row with a text of another size',
      inDatabase('ledger.sqlite', (database) =>
        database.exec(
          'insert into checkpoints select 50000, root, replace(text, size, 50000), at, 0 from checkpoints limit 1',
        ),
      ),
      /^kept checkpoint of size 50000: /m,
    ],
    [
      'a log that was cut to an earlier checkpoint, which is in both records',
      async (data) => {
        await inBoth(JSON.stringify({ ...record, size: early.size, root: early.root, text: early.text }))(data)
        await inDatabase('events.sqlite', (database) => cutLog(database, early.size))(data)
      },
      /log shorter than the checkpoint, \d+ of \d+ records$/m,
    ],
    [
      'a record that is no JSON',
      inDatabase('ledger.sqlite', (database) => database.exec("update sealed set record = 'x'")),
      /ledger\.sqlite does not hold the sealed record of a ledger\./,
    ],
    [
      'a record next to the key that is no JSON',
      (data) => writeFile(join(data, 'signing-key.pem.sealed'), 'x'),
      /signing-key\.pem\.sealed does not hold the sealed record of a ledger\./,
    ],
  ]
  for (const [name, tamper, found] of cases) {
    const data = join(folder, name.replaceAll(' ', '-'))
    await cp(whole, data, { recursive: true })
    await tamper(data)
    const { exit, out, err } = await rollcall(['events', 'verify', '--data', data, '--no-progress'])
    t.match(`${out}${err}`, found, name)
    t.equal(exit, name === 'unchanged' ? 0 : 3, `${name}: the exit code`)
  }
  const unreadable = join(folder, 'a-record-that-is-no-JSON')
  t.match(await rollcall(['ledger', 'status', '--data', unreadable]), { exit: 3, out: /suspended/ })
  for (const args of [
    ['ledger', 'restart', '--reason', 'a drill', '--yes', '--data', unreadable],
    ['backup', join(folder, 'backup'), '--data', unreadable],
  ])
    t.match(await rollcall(args), { exit: 3, err: /does not hold the sealed record of a ledger/ })
})
