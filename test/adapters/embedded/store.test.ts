import { randomBytes } from 'node:crypto'
import { readdir, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Row } from '../../../src/projections/views.ts'
import { collect, happened } from '../../contracts/log.ts'
import { checkpointAt } from '../../contracts/views.ts'
import { CHILD, startChild } from '../../crash/rig.ts'
import { newDirectory } from './store.ts'

const kek = randomBytes(32)
const open = (directory: string) =>
  openEmbedded(directory, {
    clock: systemClock,
    kek,
    onError: (_, error) => {
      throw error
    },
  })

void t.test('a data directory in use is refused with the process id of its user until that process ends', async (t) => {
  const directory = await newDirectory(t)
  const { child, until, count, kill } = startChild([CHILD, directory, '1'])
  await until(() => count('ack') > 0, 'the other process to write')
  await t.rejects(open(directory), { message: `data directory ${directory} is in use by process ${child.pid}` })
  await kill()
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: () => undefined,
  })
  await t.rejects(openEmbedded(directory, { clock: systemClock, kek, onError: () => undefined }), {
    message: `in use by process ${process.pid}`,
  })
  await store.close()
})

void t.test('a store that fails to open unlocks its data directory', async (t) => {
  const directory = await newDirectory(t)
  await (await open(directory)).close()
  const other = openEmbedded(directory, { clock: systemClock, kek: randomBytes(32), onError: () => undefined })
  await t.rejects(other, { message: /encrypted with another main key/ })
  await (await open(directory)).close()
})

void t.test('no client of the event file can change or delete an event, because triggers reject it', async (t) => {
  const directory = await newDirectory(t)
  const store = await open(directory)
  await store.log.append('test-1', [happened(1)], 'none')
  const analyst = await openDatabase(join(directory, 'events.sqlite'), 'durable')
  t.throws(() => analyst.exec("update events set data = '{}'"), /events are never changed/)
  t.throws(() => analyst.exec('delete from events'), /events are never deleted/)
  t.throws(() => analyst.exec("insert into events values (1, 'x', 0, 'x', 'x', 'x', '{}', '{}')"))
  t.match(analyst.prepare("select data ->> 'n' as n, time, stream from events").get(), {
    n: 1,
    time: happened(1).time,
    stream: 'test-1',
  })
  analyst.close()
  await store.close()
})

void t.test('event times in the log never decrease, and an append returns the stored time', async (t) => {
  const store = await open(await newDirectory(t))
  const early = await store.log.append('test-a', [happened(1000)], 'none')
  const late = await store.log.append('test-b', [happened(1), happened(2000)], 'none')
  t.equal(early.times, undefined)
  t.same(late.times, [happened(1000).time, happened(2000).time])
  const times = (await collect(store.log.readAll(0n))).map(({ time }) => time)
  t.same(
    times,
    [1000, 1000, 2000].map((n) => happened(n).time),
  )
  t.same((await store.log.append('test-b', [happened(3000)], 1n)).times, undefined)
  await store.close()
})

void t.test('if more writes arrive than may run at once, the others wait and all complete', async (t) => {
  const store = await open(await newDirectory(t))
  const count = 10_000
  await Promise.all(Array.from({ length: count }, (_, n) => store.log.append(`test-${n}`, [happened(n)], 'none')))
  t.equal(await store.log.head(), BigInt(count))
  const view = { name: 'many', version: 1, fields: ['n'], indexes: [{ by: ['n'] }] }
  const row = (n: number): Row => ({ key: `k${n}`, revision: 0n, position: 1n, changes: 1n, doc: { n } })
  await Promise.all(Array.from({ length: count }, (_, n) => store.views.put(view, [row(n)])))
  t.equal((await store.views.list(view, { where: {}, order: 'n', limit: 1, count: count + 1 })).total, count)
  await store.close()
})

void t.test('deleting the file of read models does not change the event log', async (t) => {
  const directory = await newDirectory(t)
  const view = { name: 'gone', version: 1, fields: [], indexes: [] }
  let store = await open(directory)
  await store.log.append('test-1', [happened(1)], 'none')
  await store.views.mark(view, undefined, checkpointAt(1n))
  await store.close()
  for (const file of (await readdir(directory)).filter((name) => name.startsWith('views.')))
    await rm(join(directory, file))
  store = await open(directory)
  t.equal(await store.views.checkpoint(view), undefined)
  t.equal(await store.log.head(), 1n)
  await store.close()
})

void t.test('an open or abandoned read of a table does not block a checkpoint of the write-ahead log', async (t) => {
  const directory = await newDirectory(t)
  const view = { name: 'scanned', version: 1, fields: [], indexes: [] }
  const row = (n: number): Row => ({ key: `k${n}`, revision: 0n, position: 1n, changes: 1n, doc: { n } })
  const store = await open(directory)
  for (const left of [false, true]) {
    await store.views.put(
      view,
      Array.from({ length: 1500 }, (_, n) => row(n)),
    )
    for await (const page of store.views.scan(view)) {
      t.equal(page.length, left ? 1000 : page.length)
      if (left) break
    }
    const another = await openDatabase(join(directory, 'views.sqlite'), 'rebuildable')
    const { busy } = another.prepare('pragma wal_checkpoint(truncate)').get() as { readonly busy: number }
    t.equal(busy, 0, left ? 'left' : 'ended')
    another.close()
  }
  await store.close()
})

void t.test('building a new version of a read model deletes the old version', async (t) => {
  const store = await open(await newDirectory(t))
  const [first, second] = [1, 2].map((version) => ({ name: 'pets', version, fields: [], indexes: [] }))
  const near = { name: 'pets_old', version: 1, fields: [], indexes: [] }
  for (const view of [first!, near, second!]) await (await store.views.build(view)).swap(checkpointAt(5n))
  t.same(
    [await store.views.checkpoint(first!), await store.views.checkpoint(second!), await store.views.checkpoint(near)],
    [undefined, checkpointAt(5n), checkpointAt(5n)],
  )
  await store.close()
})

void t.test('a destroyed encryption key is left in no file of the data directory', async (t) => {
  const directory = await newDirectory(t)
  let store = await open(directory)
  await store.keys.make('ann')
  await store.keys.make('bob')
  const subjects = await openDatabase(join(directory, 'subjects.sqlite'), 'read')
  const wrapped = (subjects.prepare("select key from subjects where subject = 'ann'").get() as { key: Uint8Array }).key
  subjects.close()
  const holders = async () => {
    const names = await readdir(directory)
    const texts = await Promise.all(names.map((name) => readFile(join(directory, name))))
    return names.filter((_, n) => texts[n]!.includes(Buffer.from(wrapped.subarray(12, 44))))
  }
  t.ok((await holders()).includes('subjects.sqlite'), 'it is found while it lives')
  await store.keys.destroy('ann')
  t.same(await holders(), [])
  await store.close()
  store = await open(directory)
  t.same(await holders(), [])
  await store.close()
})

void t.test('opening a database waits 5 s for a locked file, but fails at once for a used directory', async (t) => {
  const directory = await newDirectory(t)
  const waits: number[] = []
  for (const mode of ['durable', 'rebuildable', 'erasing', 'read', 'lock'] as const) {
    const database = await openDatabase(join(directory, mode === 'read' ? 'durable' : mode), mode)
    waits.push((database.prepare('pragma busy_timeout').get() as { readonly timeout: number }).timeout)
    database.close()
  }
  t.same(waits, [5_000, 5_000, 5_000, 5_000, 0])
})

void t.test('only the owner can read the data directory', async (t) => {
  const directory = join(await newDirectory(t), 'data')
  await (await open(directory)).close()
  t.equal((await stat(directory)).mode & 0o777, 0o700)
})
