import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { startService } from '../start.ts'
import { rollcall } from './service.ts'

type Status = { readonly state: string; readonly why?: string; readonly origin: string; readonly size: number }

/** Changes the metadata of an event, with the triggers as they were. */
const changeMeta = async (file: string): Promise<void> => {
  const database = await openDatabase(file, 'durable')
  const { sql } = database.prepare("select sql from sqlite_schema where name = 'events_never_change'").get() as {
    sql: string
  }
  database.exec(`drop trigger events_never_change; update events set meta = meta || ' ' where position = 2; ${sql}`)
  database.close()
}

await t.test('the ledger is resumed, rebuilt and restarted on the command line', { timeout: 120_000 }, async (t) => {
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
  await writeFile(file, text)
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 0, err: /of \d+ events/ })
  t.equal((await status()).state, 'ok')

  await changeMeta(join(data, 'events.sqlite'))
  t.match(await status(), { state: 'diverged', why: /not the sealed ones/ })
  t.match(await ledger('resume', '--checkpoint', file, '--yes'), { exit: 3, err: /not the sealed ones/ })
  t.match(await ledger('rebuild', '--yes'), { exit: 3, err: /not the sealed ones/ })

  const key = await readFile(join(data, 'signing-key.pem'), 'utf8')
  t.match(await ledger('restart', '--reason', ' ', '--yes'), { exit: 2 })
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
