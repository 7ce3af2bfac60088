import t from 'tap'
import { measureSlicesBy } from '../../../src/base/event-loop.ts'
import { checkpointAt, viewsContract } from '../../contracts/views.ts'
import { portOf } from './store.ts'

void t.test('the embedded read models pass the shared tests of all read-model stores', async (t) =>
  viewsContract(t, (t, clock) => portOf(t, 'views', clock)),
)

void t.test('a scan of large rows returns pages of at most 4 MiB plus one row', async (t) => {
  const { open } = await portOf(t, 'views')
  const views = await open()
  t.teardown(views.close)
  const view = { name: 'large', version: 1, fields: [], indexes: [] }
  const doc = { text: 'x'.repeat(1_000_000) }
  const rows = Array.from({ length: 12 }, (_, n) => ({
    key: `k${n}`,
    revision: 0n,
    position: BigInt(n + 1),
    changes: 1n,
    doc,
  }))
  const building = await views.build(view)
  await building.put(rows)
  await building.put(rows.map((row) => ({ ...row, revision: 1n })))
  await building.swap(checkpointAt(24n))
  const pages: number[] = []
  for await (const page of views.scan(view)) {
    pages.push(page.length)
    t.ok(page.every(({ revision }) => revision === 1n))
  }
  t.same(pages, [5, 5, 2])
})

void t.test('a read of many rows by key lets other work run between them', async (t) => {
  const { open } = await portOf(t, 'views')
  const views = await open()
  t.teardown(views.close)
  const view = { name: 'many', version: 1, fields: [], indexes: [] }
  const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
  await views.put(
    view,
    keys.map((key, n) => ({ key, revision: 0n, position: BigInt(n + 1), changes: 1n, doc: { key } })),
  )
  let elapsed = 0
  measureSlicesBy(() => (elapsed += 10))
  t.teardown(() => measureSlicesBy(() => 0))
  let [turns, isOver] = [0, false]
  const turn = (): void => {
    turns++
    if (!isOver) setImmediate(turn)
  }
  setImmediate(turn)
  const rows = await views.getMany(view, keys)
  isOver = true
  t.strictSame(
    rows.map(({ key }) => key),
    keys,
  )
  t.ok(turns >= 10, `${turns} turns of the event loop`)
})
