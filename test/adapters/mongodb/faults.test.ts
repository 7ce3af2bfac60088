import t, { type Test } from 'tap'
import { Refusal } from '../../../src/errors.ts'
import type { Row, View, Views } from '../../../src/projections/views.ts'
import { ownMongo } from '../servers.ts'
import { checkpointAt } from '../../contracts/views.ts'
import { database } from './store.ts'

const { server, skip } = await ownMongo(t)
const pets: View = { name: 'pets', version: 1, fields: ['name', 'createdAt'], indexes: [{ by: ['createdAt'] }] }
const row = (key: string, revision: number, name = `v${revision}`): Row => ({
  key,
  revision: BigInt(revision),
  position: BigInt(revision + 1),
  changes: BigInt(revision + 1),
  doc: { name, createdAt: '2026-01-01T00:00:00.000Z' },
})
const all = { where: {}, order: 'createdAt', limit: 10 } as const
const sleep = (ms: number) => new Promise((wake) => setTimeout(wake, ms))

const reads: Readonly<Record<string, (views: Views) => Promise<unknown>>> = {
  get: (views) => views.get(pets, 'a'),
  getMany: (views) => views.getMany(pets, ['a', 'b']),
  list: (views) => views.list(pets, all),
  scan: (views) => views.scan(pets)[Symbol.asyncIterator]().next(),
  checkpoint: (views) => views.checkpoint(pets),
  record: (views) => views.record('answers', 'a'),
}
const writes: Readonly<Record<string, (views: Views) => Promise<unknown>>> = {
  put: (views) => views.put(pets, [row('a', 9)]),
  mark: (views) => views.mark(pets, undefined, checkpointAt(9n)),
  swapRecord: (views) => views.swapRecord('answers', 'a', 0, {}, Date.now() + 1000),
}

const timed = async (work: Promise<unknown>) => {
  const began = performance.now()
  const outcome = await work.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.reason : error),
  )
  return { outcome, ms: performance.now() - began }
}

/** Everything is refused in time while the server is away, and works again without a restart. */
const goneAndBack = async (t: Test, away: () => Promise<void>, back: () => Promise<void>) => {
  const { open } = database(server!.url)
  const { views, close } = await open()
  await views.put(pets, [row('a', 0)])
  await away()
  for (const round of [1, 2]) {
    const tried = Object.entries({ ...reads, ...writes }).map(async ([name, ask]) => ({
      name,
      ...(await timed(ask(views))),
    }))
    for (const { name, outcome, ms } of await Promise.all(tried)) {
      t.equal(outcome, 'backend_unavailable', `${name}, round ${round}`)
      t.ok(ms < (name in reads ? 8000 : 10_000), `${name} after ${Math.round(ms)} ms`)
    }
  }
  await back()
  const returned = performance.now()
  while ((await timed(views.get(pets, 'a'))).outcome !== 'done' && performance.now() - returned < 20_000)
    await sleep(50)
  t.ok(performance.now() - returned < 15_000, `back after ${Math.round(performance.now() - returned)} ms`)
  for (const [name, ask] of Object.entries({ ...reads, ...writes }))
    t.equal((await timed(ask(views))).outcome, 'done', name)
  t.equal((await views.get(pets, 'a'))?.revision, 9n)
  await close()
}

await t.test('a server that is killed is told in time, and found again', { skip }, (t) =>
  goneAndBack(t, server!.kill, server!.start),
)

await t.test('a server that hangs is told in time, and found again', { skip }, (t) =>
  goneAndBack(
    t,
    async () => server!.freeze(),
    async () => server!.thaw(),
  ),
)

await t.test('views close in time while the server hangs', { skip }, async (t) => {
  const { close, views } = await database(server!.url).open()
  await views.get(pets, 'a')
  server!.freeze()
  const pending = timed(views.get(pets, 'a'))
  const { ms } = await timed(close())
  server!.thaw()
  t.ok(ms < 10_000, `${Math.round(ms)} ms`)
  t.equal((await pending).outcome, 'backend_unavailable')
})

await t.test('a server that is not there at the start is said so, without its address', { skip }, async (t) => {
  await server!.kill()
  const { outcome, ms } = await timed(database(server!.url.replace('//', '//user:secret@')).open())
  await server!.start()
  t.ok(ms < 4000)
  t.match(outcome, { message: 'MongoDB does not answer' })
  t.notMatch(String((outcome as Error).cause), /secret/)
})

await t.test(
  'instances that write the same rows at once leave the latest of each, whoever inserts first',
  { skip },
  async (t) => {
    const { open } = database(server!.url)
    const opened = await Promise.all([open(), open(), open(), open()])
    for (let n = 0; n < 5; n++) {
      const puts = [0, 3, 1, 2].map((revision, i) =>
        opened[i]!.views.put(pets, [row(`k${n}`, revision), row(`l${n}`, 3 - revision)]),
      )
      await Promise.all(puts)
    }
    const { rows } = await opened[0].views.list(pets, all)
    t.equal(rows.length, 10)
    for (const { key, revision } of rows) t.equal(revision, 3n, key)
    await Promise.all(opened.map(({ close }) => close()))
  },
)

await t.test(
  'rows that another instance puts while a view is built are in the view built, and its readers follow the swap',
  { skip },
  async (t) => {
    const { open } = database(server!.url)
    const [builder, other] = await Promise.all([open(), open()])
    await other.views.put(pets, [row('stale', 0)])
    await other.views.get(pets, 'stale')
    const building = await builder.views.build(pets)
    await other.views.put(pets, [row('live', 0), row('both', 2)])
    await building.put([row('both', 1), row('built', 0)])
    await building.swap(checkpointAt(7n))
    t.same(await other.views.checkpoint(pets), checkpointAt(7n))
    t.equal(await other.views.get(pets, 'stale'), undefined)
    const keys = (await other.views.list(pets, all)).rows.map(({ key, revision }) => [key, revision])
    t.same(keys, [
      ['both', 2n],
      ['built', 0n],
      ['live', 0n],
    ])
    await Promise.all([builder.close(), other.close()])
  },
)

await t.test('the version before stays for those who still run it, older ones go', { skip }, async (t) => {
  const { views, close } = await database(server!.url).open()
  for (const version of [1, 2, 3]) {
    const building = await views.build({ ...pets, version })
    await building.put([row('a', version)])
    await building.swap(checkpointAt(BigInt(version)))
  }
  for (const end = Date.now() + 2000; Date.now() < end && (await views.checkpoint(pets)) !== undefined; )
    await sleep(20)
  t.same(await Promise.all([1, 2, 3].map((version) => views.checkpoint({ ...pets, version }))), [
    undefined,
    checkpointAt(2n),
    checkpointAt(3n),
  ])
  t.equal((await views.get({ ...pets, version: 2 }, 'a'))?.revision, 2n)
  t.equal(await views.get(pets, 'a'), undefined)
  await close()
})
