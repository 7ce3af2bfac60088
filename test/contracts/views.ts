import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import type { Clock } from '../../src/base/clock.ts'
import {
  type Checkpoint,
  KEY,
  type Match,
  type Query,
  type Row,
  type Scalar,
  type View,
  type Views,
} from '../../src/projections/views.ts'
import { type VirtualClock, virtualClock } from '../virtual-clock.ts'
import { refused } from './log.ts'

/** Views that can be reopened. */
export type ViewsStore = { readonly open: () => Promise<Views> }

type Doc = { readonly name: string; readonly size?: number; readonly color?: string; readonly createdAt: string }

const day = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString()
const view = (version = 1, name = `pets${randomUUID().replaceAll('-', '')}`): View => ({
  name,
  version,
  fields: ['name', 'size', 'color', 'createdAt'],
  indexes: [
    { by: ['name', 'createdAt'] },
    { by: ['color', 'createdAt'], lacking: 'size' },
    { by: ['createdAt'], also: ['color'] },
    { by: ['size'] },
  ],
})
const row = (key: string, revision: number, doc: Doc | undefined, position = revision + 1): Row<Doc> => ({
  key,
  revision: BigInt(revision),
  position: BigInt(position),
  changes: BigInt(revision + 1),
  doc,
})
/** Creates a checkpoint at a position. */
export const checkpointAt = (position: bigint, rows = 0, changes = rows): Checkpoint => ({
  position,
  event: `event ${position}`,
  log: 'event 1',
  events: Number(position),
  rows,
  changes,
})
const pet = (name: string, n: number, more: Partial<Doc> = {}): Doc => ({ name, createdAt: day(n), ...more })
const keys = (rows: readonly Row[]) => rows.map(({ key }) => key)
const scanned = async (views: Views, of: View) => {
  const rows: Row<Doc>[] = []
  for await (const page of views.scan<Doc>(of)) rows.push(...page)
  return rows.sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Contract of Views. `make` returns a new or a shared store on a clock; each test has new view names. */
export const viewsContract = (t: Test, make: (t: Test, clock: Clock) => Promise<ViewsStore>): void => {
  const withViews = async (t: Test, body: (views: Views, clock: VirtualClock) => Promise<void>) => {
    const clock = virtualClock()
    const views = await (await make(t, clock)).open()
    try {
      await body(views, clock)
    } finally {
      await views.close()
    }
  }

  void t.test('a view without writes is empty and has no checkpoint', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      t.equal(await views.get(pets, 'a'), undefined)
      t.same(await views.getMany(pets, ['a', 'b']), [])
      t.same(await views.list(pets, { where: {}, order: 'createdAt', limit: 10 }), { rows: [], total: 0 })
      t.same(await scanned(views, pets), [])
      t.same(await views.totals(pets), { rows: 0, changes: 0 })
      t.equal(await views.checkpoint(pets), undefined)
    }),
  )

  void t.test('a closed row keeps its key and is not listed; an open one of its revision replaces it', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const closed = (revision: number, before?: Doc): Row<Doc> => ({
        ...row('a', revision, undefined),
        unreadable: {
          stream: 'pet-a',
          revision: String(revision),
          type: 'PetSold.v2',
          position: String(revision + 1),
          why: 'it is new',
          ...(before && { before }),
        },
      })
      const shown = () => views.list(pets, { where: {}, order: 'createdAt', limit: 10 })
      for (const revision of [0, 1]) {
        const there = closed(revision, pet('ann', 1))
        const open = row('a', revision, pet('ann', 2))
        await views.put(pets, [there])
        t.same(await views.get(pets, 'a'), there)
        t.same(await views.getMany(pets, ['a']), [there])
        t.same(await scanned(views, pets), [there])
        t.same(await shown(), { rows: [], total: 0 })
        t.same(await views.totals(pets), { rows: 1, changes: revision + 1 })
        await views.put(pets, [open])
        t.same(await views.get(pets, 'a'), open)
        await views.put(pets, [there])
        t.same(await views.get(pets, 'a'), open, 'and is not closed again by it')
        t.same((await shown()).rows, [open])
        t.same(await scanned(views, pets), [open])
      }
      const many = [closed(2), row('b', 3, pet('bob', 3))]
      await views.put(pets, many)
      await views.put(pets, [row('a', 2, pet('ann', 4)), row('b', 2, pet('old', 4))])
      t.same(
        (await scanned(views, pets)).map(({ doc }) => doc?.name),
        ['ann', 'bob'],
      )
    }),
  )

  void t.test('a rebuilt view has closed rows too', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const building = await views.build(pets)
      const why = { stream: 'pet-a', revision: '0', type: 'Odd', position: '1', why: 'it is new' }
      const rows = [{ ...row('a', 0, undefined), unreadable: why }, row('b', 0, pet('bob', 1))]
      await building.put(rows)
      await building.put([row('a', 0, pet('ann', 2))])
      await building.swap(checkpointAt(2n))
      t.same((await views.get(pets, 'a'))?.doc, pet('ann', 2))
      t.same(await views.totals(pets), { rows: 2, changes: 2 })
    }),
  )

  void t.test('later gets, lists and scans return written rows', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      for (let n = 0; n < 50; n++) {
        const given = row(`k${n}`, 0, pet('ünï ☃ "q"', n, { size: n, color: 'red' }), n + 1)
        await views.put(pets, [given])
        t.same(await views.get(pets, given.key), given)
        if (n % 10 === 0)
          t.equal((await views.list(pets, { where: {}, order: 'createdAt', limit: 100, count: 100 })).total, n + 1)
      }
      t.equal((await scanned(views, pets)).length, 50)
      const some = await views.getMany(pets, ['k7', 'nobody', 'k31'])
      t.same(
        some.toSorted((one, other) => (one.key < other.key ? -1 : 1)),
        [await views.get(pets, 'k31'), await views.get(pets, 'k7')],
      )
      t.same(await views.getMany(pets, []), [])
    }),
  )

  void t.test('writes a row only over an older revision, in any order', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const versions = [0, 1, 2, 3, 4].map((n) => row('a', n, pet(`v${n}`, n)))
      const orders = [
        [0, 1, 2, 3, 4],
        [4, 3, 2, 1, 0],
        [2, 4, 0, 3, 1, 4, 2],
      ]
      for (const [n, order] of orders.entries()) {
        for (const at of order) await views.put(pets, [{ ...versions[at]!, key: `k${n}` }])
        t.same(await views.get(pets, `k${n}`), { ...versions[4]!, key: `k${n}` })
      }
      await Promise.all([4, 0, 3, 1, 2].map((at) => views.put(pets, [{ ...versions[at]!, key: 'at once' }])))
      await views.put(
        pets,
        [3, 4, 1].map((at) => ({ ...versions[at]!, key: 'one put' })),
      )
      const { rows } = await views.list<Doc>(pets, { where: {}, order: 'createdAt', limit: 10 })
      t.ok(rows.length === 5 && rows.every(({ doc }) => doc?.name === 'v4'))
      await views.put(pets, [row('k0', 4, pet('another of the same revision', 9))])
      await views.list(pets, { where: {}, order: 'createdAt', limit: 1 })
      t.equal((await views.get<Doc>(pets, 'k0'))?.doc?.name, 'v4', 'the same revision is not written again')
      await views.put(pets, [row('k0', 1, pet('older', 9))])
      t.equal((await views.get<Doc>(pets, 'k0'))?.doc?.name, 'v4', 'an older one is not even seen for a moment')
    }),
  )

  void t.test('a tombstone keeps its key, is scanned and never listed', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      await views.put(pets, [row('a', 0, pet('a', 0)), row('b', 0, pet('b', 1))])
      await views.put(pets, [row('a', 2, undefined)])
      await views.put(pets, [row('a', 1, pet('older event', 0))])
      t.same(await views.get(pets, 'a'), row('a', 2, undefined))
      const { rows, total } = await views.list(pets, { where: {}, order: 'createdAt', limit: 10, count: 10 })
      t.same([keys(rows), total], [['b'], 1])
      t.same(await scanned(views, pets), [row('a', 2, undefined), row('b', 0, pet('b', 1))])
      await views.put(pets, [row('a', 3, pet('again', 0))])
      t.equal((await views.list(pets, { where: {}, order: 'createdAt', limit: 10, count: 10 })).total, 2)
    }),
  )

  void t.test('conditions select rows, and total counts all matches', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      await views.put(pets, [
        row('1', 0, pet('ann', 1, { size: 1, color: 'red' })),
        row('2', 0, pet('anna', 2, { size: 2, color: 'blue' })),
        row('3', 0, pet('bob', 3, { size: 3 })),
        row('4', 0, pet('an%_', 4, { color: 'red' })),
        row('5', 0, pet('Ann', 5, { size: 5, color: '' })),
        row('6', 0, pet('anz\u{10ffff}', 6, { size: 10 })),
      ])
      type Case = readonly [
        name: string,
        where: Readonly<Record<string, Match | readonly Match[]>>,
        expected: readonly string[],
      ]
      const cases: readonly Case[] = [
        ['one value', { color: { equals: ['red'] } }, ['1', '4']],
        ['one of values', { color: { equals: ['red', 'blue'] } }, ['1', '2', '4']],
        ['absent', { color: { equals: [undefined] } }, ['3', '6']],
        ['a value or absent', { color: { equals: ['blue', undefined] } }, ['2', '3', '6']],
        ['the empty text is a value', { color: { equals: [''] } }, ['5']],
        ['none of no values', { color: { equals: [] } }, []],
        ['a number', { size: { equals: [2] } }, ['2']],
        ['a prefix is taken as it stands', { name: { prefix: 'an%' } }, ['4']],
        ['a prefix, case kept', { name: { prefix: 'an' } }, ['1', '2', '4', '6']],
        ['a prefix up to the last code point', { name: { prefix: 'anz\u{10ffff}' } }, ['6']],
        ['the empty prefix is any text', { name: { prefix: '' } }, ['1', '2', '3', '4', '5', '6']],
        ['the empty prefix needs the field', { color: { prefix: '' } }, ['1', '2', '4', '5']],
        ['a range of text, half open', { createdAt: { from: day(2), below: day(4) } }, ['2', '3']],
        ['a range of numbers is not one of text', { size: { from: 3 } }, ['3', '5', '6']],
        ['below only', { size: { below: 3 } }, ['1', '2']],
        ['below only, of text', { color: { below: 'c' } }, ['2', '5']],
        ['all conditions must hold', { color: { equals: ['red'] }, size: { from: 1 } }, ['1']],
        ['also two on one field', { name: [{ prefix: 'a' }, { from: 'anna' }] }, ['2', '6']],
      ]
      for (const [name, where, expected] of cases) {
        const found = await views.list(pets, { where, order: 'createdAt', limit: 100, count: 100 })
        t.same([keys(found.rows), found.total], [expected, expected.length], name)
        const few = await views.list(pets, { where, order: 'createdAt', limit: 1, count: 100 })
        t.same([keys(few.rows), few.total], [expected.slice(0, 1), expected.length], `${name}, first page`)
      }
      const sized = await views.list(pets, { where: {}, order: 'size', limit: 100, count: 100 })
      t.same(
        [keys(sized.rows), sized.total],
        [['1', '2', '3', '5', '6'], 5],
        'a document without the order field does not come',
      )
      for (const order of ['createdAt', 'size', KEY]) {
        const all = keys((await views.list(pets, { where: {}, order, limit: 100 })).rows).toReversed()
        const seen: string[] = []
        for (let after: Query['after']; ; ) {
          const page = { where: {}, order, descending: true, limit: 2, count: 100, ...(after && { after }) }
          const { rows, total } = await views.list<Doc>(pets, page)
          t.equal(total, all.length)
          seen.push(...keys(rows))
          const last = rows.at(-1)
          if (!last?.doc || rows.length < 2) break
          after = { value: order === KEY ? last.key : last.doc[order as 'createdAt' | 'size']!, key: last.key }
        }
        t.same(seen, all, `${order} descending, in pages`)
      }
    }),
  )

  void t.test('returns distinct values of a field for matching rows, up to a limit', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      t.same(await views.values(pets, {}, 'color', 10), [])
      await views.put(pets, [
        row('1', 0, pet('ann', 1, { size: 1, color: 'red' })),
        row('2', 0, pet('bob', 2, { color: 'red' })),
        row('3', 0, pet('cob', 3, { color: 'blue' })),
        row('4', 0, pet('dan', 4)),
        row('5', 0, pet('eve', 5, { size: 2, color: '' })),
        row('6', 0, undefined),
      ])
      const values = async (...asked: Parameters<Views['values']> extends [unknown, ...infer A] ? A : never) =>
        (await views.values(pets, ...asked)).toSorted((one, other) => (one < other ? -1 : 1))
      t.same(await values({}, 'color', 10), ['', 'blue', 'red'])
      t.same(await values({}, 'size', 10), [1, 2])
      t.same(await values({ size: { equals: [undefined] } }, 'color', 10), ['blue', 'red'])
      t.same(await values({ color: { prefix: 'b' } }, 'color', 10), ['blue'])
      t.same(await values({ createdAt: { from: day(2), below: day(4) } }, 'color', 10), ['blue', 'red'])
      t.same(await values({ name: { equals: ['nobody'] } }, 'color', 10), [])
      t.equal((await values({}, 'color', 2)).length, 2)
    }),
  )

  void t.test('pages continue by order and key without gap or duplicate, also for equal values', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const rows = Array.from({ length: 60 }, (_, n) =>
        row(`k${String(n).padStart(2, '0')}`, 0, pet('x', Math.floor(n / 7)), n + 1),
      )
      await views.put(pets, [...rows].reverse())
      const seen: string[] = []
      let after: { value: Scalar; key: string } | undefined
      for (;;) {
        const page = await views.list<Doc>(pets, {
          where: { name: { equals: ['x'] } },
          order: 'createdAt',
          limit: 8,
          count: 100,
          ...(after && { after }),
        })
        t.equal(page.total, 60)
        seen.push(...keys(page.rows))
        const last = page.rows.at(-1)
        if (page.rows.length < 8 || !last?.doc) break
        after = { value: last.doc.createdAt, key: last.key }
      }
      t.same(seen, keys(rows))
    }),
  )

  void t.test('counts all pages up to the requested limit, and not without a request', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      await views.put(
        pets,
        Array.from({ length: 30 }, (_, n) => row(`k${n}`, 0, pet('x', n, n % 3 ? {} : { color: 'red' }), n + 1)),
      )
      const total = async (more: object, where = {}) =>
        (await views.list(pets, { where, order: 'createdAt', limit: 4, ...more })).total
      t.same(await Promise.all([0, 1, 4, 29, 30, 31].map((count) => total({ count }))), [0, 1, 4, 29, 30, 30])
      t.equal(await total({}), 0, 'not asked for')
      t.equal(await total({ count: 3, limit: 100 }), 3, 'also of a list that fits on one page')
      const after = { value: day(25), key: 'k25' }
      t.equal(await total({ count: 20, after }), 20, 'all pages, not what follows')
      t.equal(await total({ count: 20 }, { color: { equals: ['red'] }, size: { equals: [undefined] } }), 10)
    }),
  )

  void t.test('sorts results found out of order, however many', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const docs = Array.from({ length: 60 }, (_, n) => pet('x', (n * 37) % 60, n % 4 ? { size: (n * 53) % 60 } : {}))
      await views.put(pets, [...docs.map((doc, n) => row(`k${n}`, 0, doc, n + 1)), row('gone', 0, undefined, 61)])
      const wanted = docs
        .flatMap(({ createdAt, size }, n) =>
          size !== undefined && size < 40 ? [{ value: createdAt, key: `k${n}` }] : [],
        )
        .toSorted((one, other) => (one.value < other.value ? -1 : 1))
      for (const count of [5, wanted.length, wanted.length + 1, 100]) {
        const query = { where: { size: { below: 40 } }, order: 'createdAt', limit: 7, count }
        const total = Math.min(wanted.length, count)
        for (let n = 0; n < wanted.length; n += 7) {
          const page = await views.list(pets, { ...query, ...(n > 0 && { after: wanted[n - 1]! }) })
          t.strictSame(
            keys(page.rows),
            wanted.slice(n, n + 7).map(({ key }) => key),
            `counted up to ${count}`,
          )
          t.equal(page.total, total)
        }
      }
    }),
  )

  void t.test('a checkpoint moves only from its present value and includes earlier rows', async (t) => {
    const store = await make(t, virtualClock())
    let views = await store.open()
    const pets = view()
    await views.put(pets, [row('a', 0, pet('a', 0), 7)])
    const at = checkpointAt(7n, 1)
    t.equal(await views.mark(pets, 3n, at), false, 'there is none to move')
    t.equal(await views.mark(pets, undefined, at), true)
    t.equal(await views.mark(pets, undefined, checkpointAt(8n)), false, 'there is one already')
    t.equal(await views.mark(pets, 3n, checkpointAt(9n)), false, 'it stands elsewhere')
    t.same(await views.checkpoint(pets), at)
    t.equal(await views.checkpoint({ ...pets, version: 2 }), undefined, 'another version was never built')
    await views.close()
    views = await store.open()
    t.same(await views.checkpoint(pets), at)
    t.equal(await views.mark(pets, 7n, checkpointAt(12n, 1)), true)
    t.same(await views.checkpoint(pets), checkpointAt(12n, 1))
    t.same(await views.totals(pets), { rows: 1, changes: 1 })
    t.same(await views.get(pets, 'a'), row('a', 0, pet('a', 0), 7))
    await views.close()
  })

  void t.test('a checkpoint can add details to its position', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const start = { position: 0n, event: '', log: '', events: 0, rows: 0, changes: 0 }
      await views.mark(pets, undefined, start)
      t.equal(await views.mark(pets, 0n, { ...start, log: 'first' }), true)
      t.same(await views.checkpoint(pets), { ...start, log: 'first' })
    }),
  )

  void t.test('returns the newest revision of a view, also after a restart and a build', async (t) => {
    const store = await make(t, virtualClock())
    let views = await store.open()
    const pets = view()
    await views.mark(pets, undefined, checkpointAt(0n))
    t.equal(await views.newest(pets), 0n)
    await views.put(pets, [row('a', 0, pet('a', 0), 7), row('b', 0, pet('b', 0), 12), row('c', 0, undefined, 9)])
    t.equal(await views.newest(pets), 12n)
    await views.put(pets, [row('d', 0, pet('d', 0), 3)])
    await views.close()
    views = await store.open()
    t.equal(await views.newest(pets), 12n)
    const building = await views.build(pets)
    await building.put([row('a', 0, pet('a', 0), 2)])
    await building.swap(checkpointAt(2n, 1))
    t.ok((await views.newest(pets)) <= 2n, 'what the build left behind counts no more')
    const next = await views.build(pets)
    await next.put([row('a', 0, pet('a', 0), 2)])
    await views.put(pets, [row('e', 0, pet('e', 0), 20)])
    await next.swap(checkpointAt(2n, 1))
    t.equal(await views.newest(pets), 20n, 'what was put meanwhile does')
    await views.close()
  })

  void t.test('a build replaces the view and its checkpoint atomically', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      await views.put(pets, [row('stale', 0, pet('must go', 0))])
      await views.mark(pets, undefined, checkpointAt(99n))
      const building = await views.build(pets)
      for (let n = 0; n < 2500; n += 500)
        await building.put(Array.from({ length: 500 }, (_, k) => row(`k${n + k}`, 0, pet('new', n + k), n + k + 1)))
      await building.put([row('k0', 2, pet('later', 0)), row('k1', 1, undefined)])
      await building.put([row('k0', 1, pet('redelivered', 0))])
      t.same(
        keys((await views.list(pets, { where: {}, order: 'createdAt', limit: 10 })).rows),
        ['stale'],
        'nothing shows before the swap',
      )
      await building.swap(checkpointAt(42n))
      t.same(
        await views.checkpoint(pets),
        checkpointAt(42n),
        'a build may set the checkpoint back: it says what was built',
      )
      t.equal(await views.get(pets, 'stale'), undefined)
      t.same(await views.get(pets, 'k0'), row('k0', 2, pet('later', 0)))
      t.equal(
        (await views.list(pets, { where: { name: { equals: ['new'] } }, order: 'createdAt', limit: 1, count: 5000 }))
          .total,
        2498,
      )
      t.equal((await scanned(views, pets)).length, 2500)
      t.same(await views.totals(pets), { rows: 2500, changes: 2503 }, 'tombstones too')
      await views.put(pets, [row('k1', 2, pet('goes on', 1))])
      t.equal((await views.get<Doc>(pets, 'k1'))?.doc?.name, 'goes on')
    }),
  )

  void t.test('the swap keeps rows written during a build if they are newer', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const building = await views.build(pets)
      await views.put(pets, [row('live', 0, pet('live', 0)), row('both', 5, pet('live is later', 1))])
      await building.put([row('both', 4, pet('built', 1)), row('built', 3, pet('built is later', 2))])
      await views.put(pets, [row('built', 1, pet('live', 2))])
      await Promise.all([building.swap(checkpointAt(10n)), views.put(pets, [row('during', 0, pet('during', 3))])])
      const names = (await scanned(views, pets)).map(({ key, doc }) => [key, doc?.name])
      t.same(names, [
        ['both', 'live is later'],
        ['built', 'built is later'],
        ['during', 'during'],
        ['live', 'live'],
      ])
    }),
  )

  void t.test('a discarded build leaves nothing, and the next one works', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const building = await views.build(pets)
      await building.put([row('a', 0, pet('a', 0))])
      await building.discard()
      t.equal(await views.get(pets, 'a'), undefined)
      t.equal(await views.checkpoint(pets), undefined)
      const next = await views.build(pets)
      await next.put([row('b', 0, pet('b', 0))])
      await next.swap(checkpointAt(1n))
      t.same(keys(await scanned(views, pets)), ['b'])
    }),
  )

  void t.test('a build returns its latest row of each key', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const building = await views.build(pets)
      t.equal(building.checkpoint, undefined)
      t.same(await building.getMany(['a']), [])
      await building.put([row('a', 0, pet('a', 0)), row('b', 0, pet('b', 1))])
      await building.put([row('a', 2, undefined), row('b', 0, pet('the same again', 1))])
      await building.put([row('a', 1, pet('older', 0))])
      const rows = await building.getMany(['a', 'b', 'nobody'])
      t.same(
        rows.toSorted((one, other) => (one.key < other.key ? -1 : 1)),
        [row('a', 2, undefined), row('b', 0, pet('b', 1))],
      )
      await building.discard()
    }),
  )

  void t.test('resumes an interrupted build, also after a restart, invisible until then', async (t) => {
    const store = await make(t, virtualClock())
    let views = await store.open()
    const pets = view()
    const first = await views.build(pets)
    await first.put([row('a', 0, pet('a', 0))])
    await first.mark(checkpointAt(1n, 1))
    await first.put([row('b', 0, pet('b', 1), 2)])
    await first.leave()
    const second = await views.build(pets)
    t.same(second.checkpoint, checkpointAt(1n, 1))
    await second.put([row('c', 0, pet('c', 2), 3)])
    await second.mark(checkpointAt(3n, 3))
    // This build is not ended.
    await views.close()
    views = await store.open()
    t.equal(await views.checkpoint(pets), undefined)
    t.same(await scanned(views, pets), [])
    const third = await views.build(pets)
    t.same(third.checkpoint, checkpointAt(3n, 3))
    t.equal((await third.getMany(['a', 'c'])).length, 2)
    await third.swap(checkpointAt(4n, 3))
    t.same(keys(await scanned(views, pets)), ['a', 'b', 'c'])
    t.same(await views.checkpoint(pets), checkpointAt(4n, 3))
    t.equal((await views.build(pets)).checkpoint, undefined, 'what was swapped in is left no more')
    await views.close()
  })

  void t.test('returns some fields of documents that lack one, and the count of the others', (t) =>
    withViews(t, async (views) => {
      const pets = view()
      const part = { lacking: 'color', fields: ['name', 'size'] }
      const scannedPart = async () => {
        const rows: Row[] = []
        for await (const page of views.scan(pets, part)) rows.push(...page)
        return rows.sort((a, b) => (a.key < b.key ? -1 : 1))
      }
      t.same([await scannedPart(), await views.tally(pets, 'color', 'size')], [[], new Map()])
      await views.put(pets, [
        row('a', 0, pet('ann', 0, { size: 3 })),
        row('b', 0, pet('bob', 1)),
        row('c', 0, pet('cid', 2, { size: 3, color: 'red' })),
        row('d', 0, pet('dan', 3, { size: 4, color: '' })),
        row('e', 0, pet('eve', 4, { size: 3, color: 'blue' })),
        row('f', 0, pet('fay', 5, { color: 'blue' })),
      ])
      await views.put(pets, [row('g', 7, undefined)])
      t.same(await scannedPart(), [
        { ...row('a', 0, undefined), doc: { name: 'ann', size: 3 } },
        { ...row('b', 0, undefined), doc: { name: 'bob' } },
        row('g', 7, undefined),
      ])
      t.same(
        await views.tally(pets, 'color', 'size'),
        new Map([
          ['3', 2],
          ['4', 1],
        ]),
      )
      const many = Array.from({ length: 2300 }, (_, n) => row(`m${n}`, 0, pet('x', n, n % 2 ? { color: 'red' } : {})))
      for (let n = 0; n < many.length; n += 100) await views.put(pets, many.slice(n, n + 100))
      t.equal((await scannedPart()).length, 1153)
    }),
  )

  void t.test('exactly one of many swaps of a record at a revision wins', (t) =>
    withViews(t, async (views, clock) => {
      const key = randomUUID()
      const later = clock.now().getTime() + 60_000
      t.equal(await views.record('answers', key), undefined)
      for (let revision = 0; revision < 4; revision++) {
        const results = await Promise.all(
          Array.from({ length: 8 }, (_, n) => views.swapRecord('answers', key, revision, { n }, later)),
        )
        t.equal(results.filter(Boolean).length, 1)
        t.same(await views.record('answers', key), { revision: revision + 1, value: { n: results.indexOf(true) } })
      }
      t.equal(await views.swapRecord('answers', key, 0, {}, later), false)
      t.equal(await views.swapRecord('answers', key, 9, {}, later), false)
      t.equal(await views.record('other', key), undefined, 'tables are apart')
    }),
  )

  void t.test('an expired record is absent and can be created again', (t) =>
    withViews(t, async (views, clock) => {
      const key = randomUUID()
      const later = clock.now().getTime() + 600_000
      t.equal(await views.swapRecord('answers', key, 0, { n: 1 }, later), true)
      t.equal((await views.record('answers', key))?.revision, 1)
      t.equal(await views.swapRecord('answers', key, 1, { n: 1 }, clock.now().getTime() + 40), true)
      await clock.advance(39)
      t.same(await views.record('answers', key), { revision: 2, value: { n: 1 } })
      t.equal((await views.records('answers', [key])).size, 1)
      t.equal(await views.swapRecord('answers', key, 0, { n: 2 }, later), false, 'it stands for a millisecond more')
      await clock.advance(1)
      t.equal(await views.record('answers', key), undefined)
      t.equal((await views.records('answers', [key])).size, 0)
      t.equal(await views.swapRecord('answers', key, 2, { n: 2 }, later), false)
      t.equal(await views.swapRecord('answers', key, 0, { n: 2 }, later), true)
      t.same(await views.record('answers', key), { revision: 1, value: { n: 2 } })
    }),
  )

  void t.test('reads several records at once, omitting missing ones', (t) =>
    withViews(t, async (views, clock) => {
      const [one, other, past] = [randomUUID(), randomUUID(), randomUUID()]
      const later = clock.now().getTime() + 60_000
      await views.swapRecord('answers', one, 0, { n: 1 }, later)
      await views.swapRecord('answers', other, 0, { n: 2 }, 8.64e15)
      await views.swapRecord('others', other, 0, { n: 3 }, later)
      await views.swapRecord('answers', past, 0, { n: 4 }, clock.now().getTime() - 1)
      const found = await views.records<{ n: number }>('answers', [one, other, past, 'nobody'])
      t.same(
        [...found].toSorted(([, a], [, b]) => a.value.n - b.value.n),
        [
          [one, { revision: 1, value: { n: 1 } }],
          [other, { revision: 1, value: { n: 2 } }],
        ],
      )
      t.equal((await views.records('answers', [])).size, 0)
    }),
  )

  void t.test('records survive a restart', async (t) => {
    const clock = virtualClock()
    const store = await make(t, clock)
    const key = randomUUID()
    let views = await store.open()
    await views.swapRecord('answers', key, 0, { text: 'ünï' }, clock.now().getTime() + 60_000)
    await views.close()
    views = await store.open()
    t.same(await views.record('answers', key), { revision: 1, value: { text: 'ünï' } })
    await views.close()
  })

  void t.test('closed views refuse calls', async (t) => {
    const clock = virtualClock()
    const views = await (await make(t, clock)).open()
    await views.close()
    await refused(t, views.get(view(), 'a'), 'backend_unavailable')
    await refused(t, views.swapRecord('answers', 'a', 0, {}, clock.now().getTime() + 1000), 'backend_unavailable')
  })
}
