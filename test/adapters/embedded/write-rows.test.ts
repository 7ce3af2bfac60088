import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openDatabase, rowsOf } from '../../../src/adapters/embedded/sqlite.ts'
import { flat, shapeOf } from '../../../src/adapters/embedded/views/view-build.ts'
import { rowWriter } from '../../../src/adapters/embedded/writer/write-rows.ts'

const view = { name: 'pets', version: 1, fields: ['name'], indexes: [{ by: ['name'] }] }
const shape = shapeOf(view)
const staging = 'pets_1~a'

type Put = readonly [key: string, revision: number]

const rows = (...each: readonly Put[]) =>
  flat(
    shape,
    each.map(([key, revision]) => ({
      key,
      revision: BigInt(revision),
      position: 1n,
      changes: 1n,
      doc: { name: `${key} ${revision}` },
    })),
  )

const opened = async (t: Test, most?: number) => {
  const database = await openDatabase(join(t.testdir(), 'views.sqlite'), 'rebuildable')
  t.teardown(() => database.close())
  const writer = rowWriter(database, () => true, most)
  writer.begin(staging, shape)
  return {
    ...writer,
    database,
    put: (...each: readonly Put[]) => writer.write(staging, shape, rows(...each)),
    revisions: (...keys: readonly string[]) =>
      writer.find(staging, shape, keys).map(([key, revision]) => [key, revision]),
    hasKey: () =>
      rowsOf(database, "select 1 from sqlite_schema where type = 'index' and tbl_name = ?").get(staging) !== undefined,
    all: () => rowsOf(database, `select _key, _revision from "${staging}" order by _key`).all(),
  }
}

void t.test('while a read-model table is built, it keeps only the latest row of each key', async (t) => {
  const { put, revisions, hasKey, all, key } = await opened(t)
  put(['a', 0], ['b', 0], ['a', 2], ['a', 1])
  for (let n = 0; n < 25; n++) put([`c${n}`, 0], ['b', n % 7], [`c${n}`, 1])
  t.equal(hasKey(), false)
  const there = [['a', 2], ['b', 6], ...Array.from({ length: 25 }, (_, n) => [`c${n}`, 1])]
  t.same(revisions('c7', 'nobody', 'a', 'b'), [
    ['c7', 1],
    ['a', 2],
    ['b', 6],
  ])
  t.same(new Map(all() as [string, number][]), new Map(there as [string, number][]))
  key(staging)
  t.equal(hasKey(), true)
  put(['a', 1], ['b', 7])
  t.same(revisions('a', 'b'), [
    ['a', 2],
    ['b', 7],
  ])
  t.equal(all().length, there.length)
})

void t.test('a table with more rows than the hash table of the writer can hold gets an index', async (t) => {
  const { put, revisions, hasKey, all } = await opened(t, 4)
  put(['a', 0], ['b', 0])
  put(['c', 0], ['d', 0])
  t.equal(hasKey(), false)
  put(['a', 1], ['e', 0])
  t.equal(hasKey(), true)
  put(['a', 0], ['f', 0])
  t.same(revisions('a', 'e'), [
    ['a', 1],
    ['e', 0],
  ])
  t.equal(all().length, 6)
})

void t.test('rows of a rolled-back transaction are gone, and rows of a deleted table are found by key', async (t) => {
  const { database, put, revisions, all, undo, leave, reset } = await opened(t)
  put(['a', 0])
  database.exec('begin')
  put(['b', 3], ['a', 1])
  database.exec('rollback')
  undo()
  t.same(revisions('a', 'b'), [['a', 0]])
  put(['b', 0], ['c', 0])
  leave(staging)
  reset()
  put(['b', 1])
  t.same(all(), [
    ['a', 0],
    ['b', 1],
    ['c', 0],
  ])
})
