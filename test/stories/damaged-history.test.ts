import { cp, mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { virtualClock } from '../virtual-clock.ts'
import { eventually } from '../wait.ts'

type Status = { readonly state: string; readonly scrub: { readonly ok?: boolean; readonly firstBad?: object } }

/** Changes the metadata of an event, with the triggers as they were. */
const changeMeta = async (file: string, position: number): Promise<void> => {
  const database = await openDatabase(file, 'durable')
  const { sql } = database.prepare("select sql from sqlite_schema where name = 'events_never_change'").get() as {
    sql: string
  }
  database.exec(
    `drop trigger events_never_change; update events set meta = meta || ' ' where position = ${position}; ${sql}`,
  )
  database.close()
}

await t.test('an event that was edited in the file of a stopped service is named', async (t) => {
  const clock = virtualClock()
  const service = await startService(
    t,
    { 'storage.type': 'embedded', 'history.ledger.scrub_interval': '2m' },
    { clock },
  )
  const { request, metrics, logged } = service
  const status = async () => (await request<Status>('GET', '/audit/v1/ledger')).json
  const metric = async (name: string) => Number(new RegExp(`^rollcall_${name} (\\S+)$`, 'm').exec(await metrics())?.[1])
  /** Advances the clock until a condition holds. */
  const until = (condition: () => Promise<boolean>, what: string) =>
    eventually(async () => {
      await clock.advance(1_000)
      return condition()
    }, what)
  for (let n = 0; n < 256; n++)
    await request('POST', '/api/v1/flags', { key: `f${n}`, name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  t.same((await status()).scrub, {}, 'before the first run')
  await clock.advance(60_000)
  await until(async () => (await status()).scrub.ok === true, 'the first run')
  t.equal((await status()).state, 'ok')
  t.ok((await metric('ledger_scrub_last_success_timestamp_seconds')) > 0)
  t.equal(await metric('ledger_first_bad_index'), -1)

  await service.reopen(() => changeMeta(join(service.directory, 'data', 'events.sqlite'), 10))
  await until(async () => (await status()).state === 'diverged', 'the difference')
  t.match((await status()).scrub, { ok: false, firstBad: { index: 9, kind: 'changed' } })
  const errors = async () => (await logged()).split('\n').filter((line) => line.includes('"history is damaged'))
  t.equal((await errors()).length, 1)
  await clock.advance(120_000)
  await until(async () => (await errors()).length === 2, 'the line of the next run')
  for (const line of await errors()) t.match(JSON.parse(line), { level: 'ERROR', index: 9, kind: 'changed' })
  t.equal(await metric('ledger_first_bad_index'), 9)
  t.equal(await metric('ledger_scrub_last_success_timestamp_seconds'), 0)
})

type Checkpoint = { readonly size: number; readonly root: string; readonly text: string }
type Events = { readonly events: readonly { readonly position: string; readonly sealed: boolean }[] }

/** Copies the event log of a stopped service. */
const copyLog = async (from: string, to: string): Promise<void> => {
  await mkdir(to, { recursive: true })
  for (const directory of [to, from])
    for (const name of (await readdir(directory)).filter((each) => each.startsWith('events.sqlite')))
      await (directory === to ? rm(join(to, name)) : cp(join(from, name), join(to, name)))
}

await t.test('nothing of an older log under a newer sealed record is sealed, signed or proven as new', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const { request } = service
  const L = '/audit/v1/ledger'
  const [data, kept] = [join(service.directory, 'data'), join(service.directory, 'kept')]
  let flags = 0
  const write = async (count: number) => {
    for (let n = 0; n < count; n++)
      await request('POST', '/api/v1/flags', { key: `f${flags++}`, name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  }
  const list = async (order: string) =>
    (await request<Events>('GET', `/audit/v1/events?order=${order}&limit=1`)).json.events[0]!
  const refused = async (method: string, path: string) => {
    const { status, text, headers } = await request(method, path)
    t.strictSame([status, headers['retry-after']], [503, '60'], `${method} ${path}`)
    t.match(text, /ledger_suspended/)
  }
  await write(3)
  const early = (await request<Checkpoint>('POST', `${L}/checkpoint`)).json
  await service.reopen(() => copyLog(data, kept))
  await write(10)
  await request('POST', `${L}/checkpoint`)
  await service.reopen(() => copyLog(kept, data))
  await eventually(async () => (await request<Status>('GET', L)).json.state === 'diverged', 'the difference')
  const newest = (await request('GET', `${L}/checkpoint`)).text
  const signed = Number(newest.split('\n')[1])
  for (const step of ['a shorter log', 'a longer log']) {
    const [first, last] = [await list('asc'), await list('desc')]
    t.strictSame([first.sealed, last.sealed], [true, false], step)
    await refused('POST', `${L}/checkpoint`)
    for (const { position } of [first, last]) await refused('GET', `${L}/proof/${position}`)
    await refused('GET', `${L}/proof/${first.position}?size=${signed}`)
    await refused('GET', `${L}/consistency?from=1`)
    await refused('GET', `${L}/consistency?from=1&to=2`)
    t.equal((await request('GET', `${L}/checkpoint`)).text, newest, 'the signed checkpoint is served')
    const proof = await request<{ root: string }>('GET', `${L}/proof/${first.position}?size=${early.size}&format=json`)
    t.strictSame([proof.status, proof.json.root], [200, early.root], 'a kept checkpoint of this log proves its events')
    await write(30)
  }
  t.ok((await request<{ size: number }>('GET', L)).json.size > signed)
})

await t.test('a forged row of the ledger is not served, and an unreadable sealed record suspends it', async (t) => {
  const service = await startService(t, { 'storage.type': 'embedded' })
  const { request, logged } = service
  const L = '/audit/v1/ledger'
  const state = async () => (await request<Status>('GET', L)).json.state
  const change = async (sql: string) => {
    const database = await openDatabase(join(service.directory, 'data', 'ledger.sqlite'), 'durable')
    database.exec(sql)
    database.close()
  }
  const lines = async (text: string) => (await logged()).split('\n').filter((line) => line.includes(text))
  await request('POST', `${L}/checkpoint`)
  await service.reopen(() =>
    change('insert into checkpoints select 50000, root, text, at, 0 from checkpoints order by size desc limit 1'),
  )
  await eventually(async () => (await state()) === 'ok', 'the first attempt to seal')
  type Listed = { readonly checkpoints: readonly Checkpoint[] }
  const { checkpoints } = (await request<Listed>('GET', `${L}/checkpoints`)).json
  t.ok(checkpoints.length > 0 && checkpoints.every(({ size }) => size < 50_000))
  t.equal((await request('GET', `${L}/proof/1?size=50000`)).status, 404)
  t.notMatch((await request('GET', `${L}/checkpoint`)).text, /^50000$/m)
  for (const line of await lines('a kept checkpoint has no valid signature'))
    t.match(JSON.parse(line), { level: 'ERROR', size: 50_000 })
  t.ok((await lines('a kept checkpoint has no valid signature')).length > 0)

  await service.reopen(() => change("update sealed set record = 'x'"))
  await eventually(async () => (await state()) === 'suspended', 'the unreadable record')
  await request('POST', '/api/v1/flags', { key: 'f', name: 'f', type: 'BOOLEAN_FLAG_TYPE' })
  t.match(await request('POST', `${L}/checkpoint`), { status: 503, text: /ledger_suspended/ })
  t.match(JSON.parse((await lines('the ledger is suspended'))[0]!), {
    level: 'ERROR',
    why: /ledger\.sqlite: the file does not hold the sealed record of a ledger$/,
  })
  t.strictSame(await lines('the ledger cannot be updated'), [])
  t.strictSame(await lines('the comparison of the log with the ledger'), [])
})
