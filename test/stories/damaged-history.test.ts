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
