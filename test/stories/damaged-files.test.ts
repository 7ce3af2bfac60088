import { open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase } from '../../src/adapters/embedded/sqlite.ts'
import { of, ran, type Served, serve, spoil } from './own-process.ts'

/** Damages files of a data directory before a start and under a running service. */
const F = '/api/v1/namespaces/default/flags'
const PAGE = 4096

const overwrite = async (file: string, at: number, bytes: Uint8Array) => {
  const handle = await open(file, 'r+')
  await handle.write(bytes, 0, bytes.length, at)
  await handle.close()
}
const eventsIn = async (data: string): Promise<string> => {
  const database = await openDatabase(join(data, 'events.sqlite'), 'read')
  const all = database.prepare('select * from events order by position').all()
  database.close()
  return all.map((event) => JSON.stringify(event)).join('\n')
}
/** Overwrites every page except the first, which has the schema. */
const tear = async (file: string) => {
  const { size } = await stat(file)
  for (let at = PAGE; at < size; at += PAGE) await overwrite(file, at + 10, Buffer.alloc(PAGE / 2, 0xa5))
}

await t.test('damaged read models are renamed at the start and rebuilt', async (t) => {
  const copied = await ran(t)
  for (const [what, damage] of [
    [
      'not a database',
      (file: string) => writeFile(file, 'this was never a database, whatever its name says '.repeat(200)),
    ],
    ['torn pages', tear],
    ['cut in half', async (file: string) => truncate(file, Math.floor((await stat(file)).size / 2))],
    ['a row that is not JSON', (file: string) => spoil(join(file, '..'), 'flags')],
  ] as const)
    await t.test(what, async (t) => {
      const data = await copied()
      const events = await eventsIn(data)
      const keys = await readFile(join(data, 'keys'))
      await damage(join(data, 'views.sqlite'))
      const service = await serve(t, data)
      t.ok(service.listens, service.err())
      t.equal((await service.ask('GET', '/readyz')).status, 200)
      t.match((await service.ask('GET', `${F}/f`)).text, /"name":"one"/)
      t.match((await service.ask('GET', '/auth/v1/tokens?pageSize=1')).text, /"totalCount":151/)
      service.kill('SIGTERM')
      t.equal(await service.ended, 0)
      t.strictSame(of(service.lines(), 'ERROR'), [])
      const [line, ...more] = of(service.lines(), 'WARN').filter(({ msg }) => /set aside/.test(String(msg)))
      t.strictSame(more, [])
      t.match(line, { file: join(data, 'views.sqlite.damaged'), why: /views\.sqlite: / })
      t.notMatch(JSON.stringify(service.lines()), /key\\":/, 'what the row holds is not quoted')
      t.ok((await readdir(data)).includes('views.sqlite.damaged'))
      t.ok((await eventsIn(data)).startsWith(events), 'the history is as it was')
      t.ok((await readFile(join(data, 'keys'))).equals(keys))
    })
})

const endsWithOne = async (t: Test, service: Served, says: RegExp) => {
  t.equal(await service.ended, 1)
  const [line, ...more] = of(service.lines(), 'ERROR')
  t.match(line, { msg: says, err: { message: /\.sqlite: / } })
  t.strictSame(more, [], 'it is logged once')
}

await t.test('a damaged page found by a read ends the service and is logged once', async (t) => {
  const copied = await ran(t)
  const data = await copied()
  const service = await serve(t, data)
  t.equal((await service.ask('GET', `${F}/f?at=1`)).status, 404)
  await tear(join(data, 'events.sqlite'))
  const asked = [1, 2, 3].map(() => service.ask('GET', `${F}/f?at=30`).catch(() => ({ status: 503 })))
  for (const { status } of await Promise.all(asked)) t.equal(status, 503)
  await endsWithOne(t, service, /^rollcall ends: the event log is damaged.*rollcall log check/)
  const next = await serve(t, data)
  t.notOk(next.listens, 'the next start does not serve it')
  t.equal(await next.ended, 1)
  t.match(next.err(), /events\.sqlite: .*\n?.*backup/)
})

/** Reproducible numbers from 0 to below 1. */
const numbers = (seed: number) => () => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fff_ffff
  return seed / 0x8000_0000
}

await t.test('if pages of the event log are overwritten, answers stay correct or the service ends', async (t) => {
  const copied = await ran(t)
  const next = numbers(7)
  for (let n = 0; n < 8; n++) {
    const data = await copied()
    const file = join(data, 'events.sqlite')
    const page = Math.floor((next() * (await stat(file)).size) / PAGE)
    const garbage = Uint8Array.from({ length: PAGE - 100 }, () => Math.floor(next() * 256))
    await overwrite(file, page * PAGE + 100, garbage)
    const service = await serve(t, data)
    if (!service.listens) {
      t.equal(await service.ended, 1, `page ${page}: ${service.err()}`)
      t.match(service.err(), /events\.sqlite: /)
      continue
    }
    const { status, text } = await service
      .ask('GET', '/auth/v1/tokens?pageSize=1')
      .catch(() => ({ status: 503, text: '' }))
    if (status === 200) t.match(text, /"totalCount":151/, `page ${page}`)
    else t.equal(status, 503)
    service.kill('SIGTERM')
    t.match(String(await service.ended), /^[01]$/)
  }
})
