import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { DuckDBInstance } from '@duckdb/node-api'
import t, { type Test } from 'tap'
import { eventsSchema } from '../../src/adapters/embedded/schema.ts'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import type { withRecords } from '../../src/app/stores/stored-records.ts'
import type { Stored } from '../../src/events/log.ts'
import { entryOf } from '../../src/verifier/entry.ts'
import { leafOf } from '../../src/verifier/hashes.ts'
import { base64Of } from '../../src/verifier/platform.ts'
import { VKEY } from './ledger-server.ts'
import { ledgerOf, storeOf } from './made-export.ts'
import { rollcall } from './service.ts'

const guide = readFileSync(resolve(import.meta.dirname, '../../../docs/guides/tables.md'), 'utf8')
/** Named code blocks of the guide. */
const blocks = new Map(
  [...guide.matchAll(/^```(?:sql|python) (\S+)\n([^]*?)^```$/gm)].map(([, name, text]) => [name!, text!] as const),
)
const block = (name: string): string => {
  const text = blocks.get(name)
  if (text === undefined) throw new Error(`the guide has no block ${name}`)
  return text
}

type Made = { readonly stream: string; readonly type: string; readonly data: object; readonly meta?: object }
const [ADMIN, CI] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222']
const byCi = { actor: { kind: 'token', id: CI, method: 'token' } }
const issued = (id: string, method: string, attributes: object): Made => ({
  stream: `token-${id}`,
  type: method === 'oidc' ? 'TokenIssued.v2' : 'TokenIssued',
  data: { attributes, bootstrap: false, digest: 'a.b', id, issuedAt: '2026-11-03T13:02:11.250Z', metadata: {}, method },
})
const refused = (byReason: Readonly<Record<string, number>>): Made => ({
  stream: 'refusal-2026-11-03',
  type: 'RefusalsSummarised',
  data: { byReason, byRoute: {}, from: '', networks: 'sealed.1.a.b', subject: 'network-2026-11-03', to: '', total: 1 },
})
const flag = (namespace: string, type: string, more: object, reason?: string): Made => ({
  stream: `flag-${namespace}+checkout`,
  type,
  data: { key: 'checkout', namespace, ...more },
  meta: { ...byCi, ...(reason !== undefined && { reason }) },
})
const made: readonly Made[] = [
  issued(ADMIN, 'token', { 'token.name': 'admin' }),
  issued(CI, 'token', { 'token.name': 'ci' }),
  flag('prod', 'FlagCreated', { description: 'Größe 𝄞 "x"', name: 'Checkout' }, '=OPS-1, "first"'),
  flag('prod', 'FlagUpdated', { enabled: { from: false, to: true } }, 'OPS-2'),
  flag('test', 'FlagUpdated', { enabled: { from: false, to: true } }),
  {
    stream: 'segment-prod+beta',
    type: 'SegmentAttached',
    data: { flag: 'checkout', key: 'beta', namespace: 'prod' },
    meta: byCi,
  },
  refused({ credential_invalid: 3, token_scoped: 1 }),
  issued('33333333-3333-4333-8333-333333333333', 'oidc', { 'oidc.provider': 'acme' }),
  issued('44444444-4444-4444-8444-444444444444', 'token', { 'token.name': 'later' }),
  refused({ credential_invalid: 4 }),
]
/** The last two events are those of the next day, a millisecond after midnight. */
const timeAt = (index: number): Date =>
  index < made.length - 2
    ? new Date(Date.UTC(2026, 10, 3, 13, 2, 11, 250 + index))
    : new Date(Date.UTC(2026, 10, 4) + 1)
const revisions = new Map<string, bigint>()
const records = made.map(({ stream, type, data, meta = { actor: { kind: 'system' } } }, index): Stored => {
  const revision = revisions.get(stream) ?? 0n
  revisions.set(stream, revision + 1n)
  return {
    id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    stream,
    revision,
    position: BigInt(index + 1),
    type,
    time: timeAt(index).toISOString(),
    data: JSON.stringify(data),
    meta: JSON.stringify({ ...meta, command: 'Command', instance: 'i' }),
  }
})

/** Runs the commands of the guide on a store with the records; returns the folder of their files. */
const exportsOf = async (t: Test): Promise<string> => {
  const folder = t.testdir()
  const checkpoint = await ledgerOf(records).checkpoint()
  const opened: typeof withRecords = (_config, _clock, work) => work(storeOf(records, checkpoint))
  const load = async () => ({ withRecords: opened }) as never
  const commands = [...guide.matchAll(/^rollcall (events export) (\S+)(.*)$/gm)]
  t.equal(commands.length, 3)
  for (const [, verb, out, options] of commands) {
    const words = `${options} --data ${folder}`.trim().split(' ')
    const ran = await rollcall([...verb!.split(' '), join(folder, out!), ...words], {}, '', { load })
    t.equal(ran.exit, 0, ran.err)
    t.match(await rollcall(['events', 'verify', join(folder, out!), '--vkey', VKEY]), { exit: 0, err: '' }, out!)
  }
  return folder
}

const DAYS = ['2026-11-03', '2026-11-04'] as const
const ISSUED = [
  { day: DAYS[0], method: 'oidc', tokens: '1' },
  { day: DAYS[0], method: 'token', tokens: '2' },
  { day: DAYS[1], method: 'token', tokens: '1' },
]
const REFUSED = [
  { day: DAYS[0], reason: 'credential_invalid', refused: '3' },
  { day: DAYS[0], reason: 'token_scoped', refused: '1' },
  { day: DAYS[1], reason: 'credential_invalid', refused: '4' },
]

await t.test('DuckDB runs the queries of the guide on the exports of its commands', async (t) => {
  const folder = await exportsOf(t)
  mkdirSync(join(folder, 'checkpoints'))
  const hashes = join(folder, 'checkpoints', 'hashes')
  writeFileSync(hashes, ledgerOf(records).hashes())
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  t.teardown(() => {
    connection.closeSync()
    instance.closeSync()
  })
  const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson()
  await connection.run(`set file_search_path = '${folder}'`)
  await connection.run(block('open'))

  t.strictSame(await query(block('issued')), ISSUED)
  t.strictSame(await query(block('refusals')), REFUSED)
  const changed = { actor: 'ci', stream: 'flag-prod+checkout' }
  t.match(await query(block('changes')), [
    { index: '2', ...changed, type: 'FlagCreated', enabled: null, reason: '=OPS-1, "first"' },
    { index: '3', ...changed, type: 'FlagUpdated', enabled: '{"from":false,"to":true}', reason: 'OPS-2' },
  ])
  const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
  const [hashed] = await query(block('hashes'))
  t.strictSame(hashed, { index: '3', data: sha256(records[3]!.data), meta: sha256(records[3]!.meta) })
  t.match(JSON.parse(entryOf(records[3]!)), { data: hashed!['data'], meta: hashed!['meta'] })

  t.strictSame(await query(block('leaves')), [], 'each event has the hash of its entry')
  const kept = ledgerOf(records).hashes().split('\n')
  const other = base64Of(leafOf(entryOf({ ...records[7]!, meta: '{}' })))
  writeFileSync(hashes, kept.with(7, other).with(made.length, other).join('\n'))
  t.match(
    await query(block('leaves')),
    [
      { index: '7', kept: other, found: kept[7]! },
      { index: String(made.length), found: null },
    ],
    'a changed event, and one that is missing',
  )

  for (const name of ['csv', 'ndjson']) {
    await connection.run(block(name))
    const columns = 'index, epoch_ms(time) as time, stream, data::varchar as data'
    const rows = await query(`select ${columns} from events_${name} order by index`)
    t.strictSame(rows, await query(`select ${columns} from events order by index`), name)
  }
})

await t.test('SQLite runs the queries of the guide on the history of a data directory', async (t) => {
  const file = join(t.testdir(), 'events.sqlite')
  const written = await openDatabase(file, 'durable')
  written.exec(eventsSchema)
  const add = written.prepare('insert into events values (?, ?, ?, ?, ?, ?, ?, ?)')
  for (const { position, stream, revision, id, type, time, data, meta } of records)
    add.run(position, stream, revision, id, type, time, data, meta)
  written.close()
  const database = await openDatabase(file, 'read')
  t.teardown(() => database.close())
  const query = (name: string) =>
    database
      .prepare(block(name))
      .all()
      .map((row) => Object.fromEntries(Object.entries(row as object)))
  const numbers = (rows: readonly object[]): unknown =>
    JSON.parse(JSON.stringify(rows).replaceAll(/"(tokens|refused)":"(\d+)"/g, '"$1":$2'))
  t.strictSame(query('sqlite-issued'), numbers(ISSUED))
  t.strictSame(query('sqlite-refusals'), numbers(REFUSED))
  t.match(query('sqlite-changes'), [
    { index: 2, actor: CI, type: 'FlagCreated', enabled: null, reason: '=OPS-1, "first"' },
    { index: 3, actor: CI, type: 'FlagUpdated', enabled: '{"from":false,"to":true}', reason: 'OPS-2' },
  ])
})

const python = promisify(execFile)
const OUTPUTS: Readonly<Record<string, RegExp>> = {
  pandas: /2026-11-03 +oidc +1\n +token +2\n2026-11-04 +token +1\n/,
  pyarrow: new RegExp(
    `^2 2026-11-03T13:02:11.252\\S* FlagCreated =OPS-1, "first" None\n.*\n3 \\S+ FlagUpdated OPS-2 .*'to': True.*\n${createHash('sha256').update(records[3]!.data).digest('hex')}\n`,
  ),
}
for (const [name, output] of Object.entries(OUTPUTS)) {
  const skip = await python('python3', ['-c', `import ${name === 'pandas' ? 'pandas, pyarrow' : name}`]).then(
    () => false as const,
    () => `needs ${name} for python3 (pip install ${name === 'pandas' ? 'pandas pyarrow' : name})`,
  )
  await t.test(`${name} runs the code of the guide`, { skip }, async (t) => {
    const cwd = await exportsOf(t)
    t.match((await python('python3', ['-c', block(name)], { cwd })).stdout, output)
  })
}

await t.test('a test runs each code block of the guide', async (t) => {
  const run = 'open issued changes refusals csv ndjson hashes leaves pandas pyarrow sqlite-issued sqlite-changes'
  t.strictSame([...blocks.keys()], [...run.split(' '), 'sqlite-refusals'])
})
