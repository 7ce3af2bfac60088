import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openEmbedded } from '../../../src/adapters/embedded/open.ts'
import { openDatabase } from '../../../src/adapters/embedded/sqlite.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { isRefusal } from '../../../src/base/errors.ts'
import type { Row, View } from '../../../src/projections/views.ts'
import { newDirectory } from './store.ts'

const view: View = { name: 'things', version: 1, fields: ['name'], indexes: [{ by: ['name'] }] }
const row = (key: string): Row => ({ key, revision: 0n, position: 1n, changes: 1n, doc: { name: `n ${key}` } })
const at = (position: bigint) => ({ position, event: 'e', log: 'l', events: 1, rows: 1, changes: 1 })
const query = { where: {}, order: 'name', limit: 10, count: 10 }

const opened = async (t: Test, given?: string) => {
  const directory = given ?? (await newDirectory(t))
  const told: string[] = []
  const store = await openEmbedded(directory, {
    clock: systemClock,
    kek: new Uint8Array(32),
    onError: (_, error) => t.fail(String(error)),
    onLost: ({ message }) => t.fail(message),
    onDamagedViews: ({ message }) => told.push(message),
    onSetAside: (file) => told.push(`${file} set aside`),
  })
  return { directory, told, ...store }
}
const spoil = async (directory: string, table = 'things_1') => {
  const database = await openDatabase(join(directory, 'views.sqlite'), 'rebuildable')
  database.exec(`update "${table}" set _doc = '{"k'`)
  database.close()
}
const keys = ({ rows }: { readonly rows: readonly Row[] }) => rows.map(({ key }) => key)

/** A store with one row, which is damaged. */
const damaged = async (t: Test) => {
  const store = await opened(t)
  await store.views.put(view, [row('a')])
  t.strictSame(keys(await store.views.list(view, query)), ['a'])
  await spoil(store.directory)
  return store
}
/** Expects the refusal `view_behind` with Retry-After. */
const refused = async (t: Test, work: () => unknown) => {
  const error = await (async () => work())().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  t.ok(isRefusal(error, 'view_behind'), String(error))
  t.match(error, { headers: { 'retry-after': '1' }, cause: { code: 'DAMAGED' } })
}

await t.test('a damaged row makes only the read models unavailable, until they are rebuilt', async (t) => {
  const { views, renewal, files, told, directory, close } = await damaged(t)
  const scan = async () => {
    for await (const rows of views.scan(view)) t.fail(String(rows.length))
  }
  const asked = [
    () => views.list(view, query),
    () => views.get(view, 'a'),
    () => views.tally(view, 'name', 'name'),
    scan,
  ]
  const written = [
    () => views.getMany(view, ['a']),
    () => views.put(view, [row('b')]),
    () => views.checkpoint(view),
    () => views.mark(view, undefined, at(1n)),
    () => views.newest(view),
    () => views.totals(view),
  ]
  for (const work of [...asked, ...written]) await refused(t, work)
  const file = join(directory, 'views.sqlite')
  t.strictSame(told, [`${file}.damaged set aside`, `${file}: a row has invalid content`])
  t.ok(existsSync(`${file}.damaged`) && !existsSync(file))
  t.equal(files.views.era(), undefined)
  t.equal(await views.swapRecord('k', 'key', 0, { v: 1 }, 9e15), true, 'records stand elsewhere')
  t.match(await views.record('k', 'key'), { value: { v: 1 } })

  const fresh = await renewal.begin()
  t.equal(files.views.era(), 1)
  for (const work of [...asked, ...written]) await refused(t, work)
  const build = await fresh.build(view)
  await build.put([row('a')])
  await build.swap(at(1n))
  renewal.built()
  for (const work of asked) await refused(t, work)
  await views.put(view, [row('b')])
  t.match(await views.checkpoint(view), { position: 1n })
  t.equal(renewal.isWhole(), false)
  renewal.done()
  t.equal(renewal.isWhole(), true)
  t.strictSame(keys(await views.list(view, query)), ['a', 'b'])
  await close()
  const again = await opened(t, directory)
  t.strictSame(keys(await again.views.list(view, query)), ['a', 'b'], 'it is all in the new file')
  await again.close()
})

await t.test('if the file of a rebuild is damaged while the rebuild runs, the file is discarded', async (t) => {
  const { views, renewal, told, directory, close } = await damaged(t)
  await refused(t, () => views.list(view, query))
  const fresh = await renewal.begin()
  await fresh.put(view, [row('a')])
  t.strictSame(keys(await fresh.list(view, query)), ['a'])
  await spoil(directory)
  await t.rejects(fresh.getMany(view, ['a']))
  t.equal(told.length, 4)
  await refused(t, () => renewal.built())
  const second = await renewal.begin()
  t.equal(await second.checkpoint(view), undefined, 'it is empty')
  const build = await second.build(view)
  await build.swap(at(1n))
  renewal.built()
  renewal.done()
  t.strictSame(keys(await views.list(view, query)), [])
  await close()
})

await t.test('a rebuild that was interrupted by a close or a kill continues at the next start', async (t) => {
  const { views, renewal, directory, close } = await damaged(t)
  await t.rejects(views.list(view, query))
  const fresh = await renewal.begin()
  const build = await fresh.build(view)
  await build.put([row('a')])
  await build.mark(at(1n))
  await close()
  const next = await opened(t, directory)
  t.equal(next.renewal.isWhole(), true)
  t.equal(await next.views.checkpoint(view), undefined)
  t.match((await next.views.build(view)).checkpoint, { position: 1n })
  await next.close()
})

await t.test('the store can be closed while its read models are damaged', async (t) => {
  const { views, close, directory } = await damaged(t)
  await t.rejects(views.list(view, query))
  await close()
  const next = await opened(t, directory)
  t.strictSame(await next.views.list(view, query), { rows: [], total: 0 })
  await next.close()
})
