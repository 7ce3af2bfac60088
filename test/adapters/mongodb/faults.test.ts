import t, { type Test } from 'tap'
import { Refusal } from '../../../src/base/errors.ts'
import type { Row, View, Views } from '../../../src/projections/views.ts'
import { checkpointAt } from '../../contracts/views.ts'
import { virtualClock } from '../../virtual-clock.ts'
import { eventually } from '../../wait.ts'
import { ownMongo } from '../servers.ts'
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
/** Maximum time in ms until a read and a write are refused. */
const [READ, WRITE] = [1_900, 2_000] as const
const time = virtualClock()

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
  swapRecord: (views) => views.swapRecord('answers', 'a', 0, {}, time.now().getTime() + 1000),
}

const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.reason : error),
  )
/** Current outcome of some work. */
const watched = (work: Promise<unknown>) => {
  const seen: { outcome?: unknown } = {}
  void outcomeOf(work).then((outcome) => (seen.outcome = outcome))
  return seen
}

/** All calls are refused in time while the server is unavailable, and succeed afterwards without a restart. */
const goneAndBack = async (t: Test, away: () => Promise<void>, back: () => Promise<void>) => {
  const { open } = database(server!.url, time, true)
  const { views, close } = await open()
  await views.put(pets, [row('a', 0)])
  await away()
  for (const round of [1, 2]) {
    const asked = (of: typeof reads) => Object.entries(of).map(([name, ask]) => ({ name, seen: watched(ask(views)) }))
    const [reading, writing] = [asked(reads), asked(writes)]
    await time.advance(READ)
    for (const { name, seen } of reading)
      t.equal(seen.outcome, 'backend_unavailable', `${name} after ${READ} ms, round ${round}`)
    await time.advance(WRITE - READ)
    for (const { name, seen } of writing)
      t.equal(seen.outcome, 'backend_unavailable', `${name} after ${WRITE} ms, round ${round}`)
  }
  await back()
  await eventually(async () => (await outcomeOf(views.get(pets, 'a'))) === 'done', 'the server to be found again')
  for (const [name, ask] of Object.entries({ ...reads, ...writes })) t.equal(await outcomeOf(ask(views)), 'done', name)
  t.equal((await views.get(pets, 'a'))?.revision, 9n)
  await close()
}

await t.test('calls to a killed MongoDB fail within 2 s, and succeed after its restart', { skip }, (t) =>
  goneAndBack(t, server!.kill, server!.start),
)

await t.test('calls to a hanging MongoDB fail within 2 s, and succeed after its recovery', { skip }, (t) =>
  goneAndBack(
    t,
    async () => server!.freeze(),
    async () => server!.thaw(),
  ),
)

await t.test('closing takes at most 2 s while MongoDB hangs, and pending calls are refused', { skip }, async (t) => {
  const { close, views } = await database(server!.url, time, true).open()
  await views.get(pets, 'a')
  server!.freeze()
  const [pending, closing] = [watched(views.get(pets, 'a')), watched(close())]
  await time.advance(WRITE)
  server!.thaw()
  t.same([pending.outcome, closing.outcome], ['backend_unavailable', 'done'])
})

await t.test('a MongoDB that is unreachable at the start is reported without its address', { skip }, async (t) => {
  await server!.kill()
  const opening = outcomeOf(database(server!.url.replace('//', '//user:secret@'), time, true).open())
  await time.advance(WRITE)
  await time.advance(WRITE)
  const outcome = await opening
  await server!.start()
  t.match(outcome, { message: 'MongoDB does not answer' })
  t.notMatch(String((outcome as Error).cause), /secret/)
})

await t.test('if several instances write the same row at once, its latest revision remains', { skip }, async (t) => {
  const { open } = database(server!.url, virtualClock(), true)
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
})

await t.test('rows that another instance writes during a rebuild are in the new read model', { skip }, async (t) => {
  const { open } = database(server!.url, virtualClock(), true)
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
})

await t.test('a new version of a read model keeps the previous one for running instances', { skip }, async (t) => {
  const { views, close } = await database(server!.url, virtualClock(), true).open()
  for (const version of [1, 2, 3]) {
    const building = await views.build({ ...pets, version })
    await building.put([row('a', version)])
    await building.swap(checkpointAt(BigInt(version)))
  }
  await eventually(async () => (await views.checkpoint(pets)) === undefined, 'the first version to be dropped')
  t.same(await Promise.all([1, 2, 3].map((version) => views.checkpoint({ ...pets, version }))), [
    undefined,
    checkpointAt(2n),
    checkpointAt(3n),
  ])
  t.equal((await views.get({ ...pets, version: 2 }, 'a'))?.revision, 2n)
  t.equal(await views.get(pets, 'a'), undefined)
  await close()
})
